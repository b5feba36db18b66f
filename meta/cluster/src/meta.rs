//! The handle on the replicated catalog.

use std::{path::PathBuf, sync::Arc};

use braid_catalog::{Catalog, Command, Effect, Reply};
use braid_replica::Replica;
use bytes::Bytes;
use parking_lot::RwLockReadGuard;

use crate::{
    Error, Identity,
    identity::{self, Found},
};

/// The vhost that is there from the first start.
const FIRST_VHOST: &[u8] = b"/";

/// What a node's part of the meta cluster is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the node keeps its data.
    pub data_dir: PathBuf,
    /// Who it is. 1 on a single node.
    pub node_id: u64,
    /// How many partitions it offers, for [`Meta::node_started`].
    pub partitions: u32,
}

/// The meta cluster, as this node sees it. Clones are handles on the same one.
#[derive(Clone, Debug)]
pub struct Meta {
    replica: Arc<Replica<Catalog>>,
    identity: Identity,
    partitions: u32,
}

impl Meta {
    /// Opens the catalog of a data directory, or begins one. `sink` gets the effects of what is committed from then on,
    /// in order, each before anybody can see the change; it is called under the catalog's lock and must not read it. What
    /// was there before, the owner reads from [`Meta::catalog`]; then it calls [`Meta::node_started`].
    ///
    /// # Errors
    /// The directory is damaged, incomplete, in use, or another node's; then nothing was changed in it.
    pub async fn open(options: Options, sink: Box<dyn FnMut(&Effect) + Send>) -> Result<Self, Error> {
        let catalog = options.data_dir.join("meta.redb");
        let found = {
            let (directory, catalog) = (options.data_dir.clone(), catalog.clone());
            on_disk(move || identity::establish(&directory, &catalog, options.node_id)).await?
        };
        let (identity, is_first) = match found {
            Found::First(identity) => (identity, true),
            Found::Known(identity) => (identity, false),
        };
        let of_replica = braid_replica::Options {
            identity: identity.id,
            create: is_first,
            ..braid_replica::Options::new(catalog, options.node_id)
        };
        let replica = Arc::new(Replica::open(of_replica, sink).await?);
        if is_first {
            let directory = options.data_dir.clone();
            on_disk(move || identity::confirm(&directory)).await?;
        }
        let meta = Self { replica, identity, partitions: options.partitions };
        meta.prepare().await?;
        Ok(meta)
    }

    /// Has a command committed, and gives the catalog's reply, which may be a refusal.
    ///
    /// # Errors
    /// It was not committed, or nobody knows: see [`braid_replica::Error`].
    pub async fn propose(&self, command: Command) -> Result<Reply, Error> {
        Ok(self.replica.propose(command).await?)
    }

    /// Proposes that this node started, with its partitions: what it had in memory is gone.
    ///
    /// # Errors
    /// As [`Meta::propose`].
    pub async fn node_started(&self) -> Result<Reply, Error> {
        self.propose(Command::NodeStarted { node: self.identity.node_id, partitions: self.partitions }).await
    }

    /// The catalog as it is after the last applied command. Hold it briefly, never across an await: applying waits.
    pub fn catalog(&self) -> RwLockReadGuard<'_, Catalog> {
        self.replica.read()
    }

    /// A number that changes whenever the catalog may have. Read it before what is to be remembered under it.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.replica.generation()
    }

    /// Which node and directory this is.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Stops it, for all handles.
    ///
    /// # Errors
    /// It had failed before. It is stopped all the same.
    pub async fn shutdown(&self) -> Result<(), Error> {
        Ok(self.replica.shutdown().await?)
    }

    /// What every cluster begins with. A catalog that no node ever worked with is new, or its first start was cut short.
    async fn prepare(&self) -> Result<(), Error> {
        let is_new = self.catalog().nodes().next().is_none();
        if !is_new {
            return Ok(());
        }
        match self.propose(Command::CreateVhost { name: Bytes::from_static(FIRST_VHOST) }).await? {
            Reply::Vhost { .. } => Ok(()),
            Reply::Refused(refusal) => Err(Error::NotPrepared(refusal.text)),
            Reply::Done | Reply::Declared { .. } => Err(Error::NotPrepared("a vhost was not answered".to_string())),
        }
    }
}

/// Runs `work`, which waits for the disk, where it does not hold up others.
async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Error::NotPrepared(error.to_string()))?
}
