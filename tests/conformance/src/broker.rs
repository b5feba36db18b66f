//! A broker process of a test's own: on free ports, with a data folder that goes with it.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{ExitStatus, Output, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use crate::{Failure, Port, Ports, binary, say, unique, within};

/// How to start a broker.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Text of its configuration file.
    pub config: String,
    /// Further arguments of `serve`.
    pub arguments: Vec<String>,
}

/// A running broker, or a peer that the environment names.
///
/// Dropping it kills the process that it started, and no other, and removes its folder, unless `CONFORMANCE_KEEP` is set:
/// then the folder stays for whoever wants to know what happened.
#[derive(Debug)]
pub struct Broker {
    process: Option<Process>,
    ports: Ports,
    options: Options,
    folder: PathBuf,
}

/// The broker's process, and the task that reads its output so that it never blocks on a full pipe.
#[derive(Debug)]
struct Process {
    child: Child,
    reader: tokio::task::JoinHandle<()>,
}

impl Broker {
    /// Starts a broker as a user would, but on free ports; returns when it says that it is ready.
    ///
    /// # Errors
    /// When it does not start; its log is in the message.
    pub async fn start() -> Result<Self, Failure> {
        Self::start_with(Options::default()).await
    }

    /// As [`start`](Self::start), with options.
    ///
    /// # Errors
    /// When it does not start; its log is in the message.
    pub async fn start_with(options: Options) -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(unique("braidmq-conformance"));
        if let Some(ports) = Ports::from_environment()? {
            return Ok(Self { process: None, ports, options, folder });
        }
        std::fs::create_dir_all(folder.join("data"))?;
        std::fs::write(folder.join("braidmq.toml"), &options.config)?;
        let mut broker = Self { process: None, ports: Ports::default(), options, folder };
        broker.launch(&Ports::default()).await?;
        Ok(broker)
    }

    /// Starts the process and waits until it is ready: on `wanted` ports, and on free ones where that names none.
    async fn launch(&mut self, wanted: &Ports) -> Result<(), Failure> {
        let mut child = self.spawn(wanted)?;
        let output = child.stdout.take().ok_or_else(|| Failure::new("the broker has no output"))?;
        let mut lines = BufReader::new(output).lines();
        let ports = within("`ready` from the broker", read_ports(&mut lines)).await.flatten();
        self.ports = ports.map_err(|failure| Failure::new(format!("{failure}; its log:\n{}", self.log())))?;
        let reader = tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        self.process = Some(Process { child, reader });
        Ok(())
    }

    fn spawn(&self, wanted: &Ports) -> Result<Child, Failure> {
        let log = std::fs::File::options().create(true).append(true).open(self.log_path())?;
        let mut command = Command::new(binary()?);
        command.arg("serve").arg("--data-dir").arg(self.folder.join("data"));
        command.arg("--config").arg(self.folder.join("braidmq.toml"));
        for port in Port::ALL {
            if !self.options.arguments.iter().any(|argument| argument == port.flag()) {
                let address = wanted.get(port).map_or_else(|_| "127.0.0.1:0".to_owned(), |address| address.to_string());
                command.args([port.flag(), &address]);
            }
        }
        command.args(&self.options.arguments).current_dir(&self.folder);
        Ok(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true).spawn()?)
    }

    /// The address of `port`.
    ///
    /// # Errors
    /// When nothing listens there.
    pub fn address(&self, port: Port) -> Result<SocketAddr, Failure> {
        self.ports.get(port)
    }

    /// Runs `braidmq` with `arguments` to its end, pointed at this broker's HTTP port by `--http` where `arguments` begin
    /// with `group`.
    ///
    /// # Errors
    /// When it cannot be started or does not end.
    pub async fn command(&self, arguments: &[&str]) -> Result<Output, Failure> {
        let mut command = self.prepare(arguments)?;
        Ok(within(&format!("end of `braidmq {}`", arguments.join(" ")), command.output()).await??)
    }

    /// As [`command`](Self::command), but left to the caller to run; it is killed when its handle is dropped.
    ///
    /// # Errors
    /// When there is no binary or no HTTP port.
    pub fn prepare(&self, arguments: &[&str]) -> Result<Command, Failure> {
        let mut command = Command::new(binary()?);
        command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
        if arguments.first() == Some(&"group") {
            command.args(["--http", &self.address(Port::Http)?.to_string()]);
        }
        Ok(command)
    }

    /// Asks the process to end (SIGTERM) and waits for it.
    ///
    /// # Errors
    /// When it is not ours or does not end.
    pub async fn terminate(&mut self) -> Result<ExitStatus, Failure> {
        let Some(mut process) = self.process.take() else { return Err(Failure::new("not started by this test")) };
        let pid = process.child.id().ok_or_else(|| Failure::new("it has ended already"))?;
        let sent = Command::new("kill").args(["-TERM", &pid.to_string()]).status().await?;
        if !sent.success() {
            return Err(Failure::new("the signal could not be sent"));
        }
        let status = within("end of the broker after SIGTERM", process.child.wait()).await??;
        process.reader.abort();
        Ok(status)
    }

    /// Kills the process at once (SIGKILL) and starts it again on the same data. Ports change.
    ///
    /// # Errors
    /// When it is not ours or does not come back.
    pub async fn restart(&mut self) -> Result<(), Failure> {
        self.kill().await?;
        self.launch(&Ports::default()).await
    }

    /// Kills the process at once (SIGKILL); returns when it is gone.
    ///
    /// # Errors
    /// When it is not ours.
    pub async fn kill(&mut self) -> Result<(), Failure> {
        let Some(mut process) = self.process.take() else { return Err(Failure::new("not started by this test")) };
        process.child.kill().await?;
        process.reader.abort();
        Ok(())
    }

    /// Starts it on the data of the former run, after [`kill`](Self::kill) or [`terminate`](Self::terminate): on the
    /// same ports, and on others when somebody has taken one of them meanwhile.
    ///
    /// # Errors
    /// When it does not come back; its log is in the message.
    pub async fn start_again(&mut self) -> Result<(), Failure> {
        let former = self.ports.clone();
        match self.launch(&former).await {
            Err(failure) if failure.to_string().contains("in use") => self.launch(&Ports::default()).await,
            started => started,
        }
    }

    /// Starts a process on the data of the former run and kills it after `alive`, most likely before it is ready.
    ///
    /// # Errors
    /// When it cannot be started, or ends by itself.
    pub async fn start_briefly(&self, alive: Duration) -> Result<(), Failure> {
        let mut child = self.spawn(&Ports::default())?;
        if let Ok(status) = tokio::time::timeout(alive, child.wait()).await {
            return Err(Failure::new(format!("it ended by itself: {}; its log:\n{}", status?, self.log())));
        }
        Ok(child.kill().await?)
    }

    /// The folder in which it runs.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What it has logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.folder.join("log")
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.reader.abort();
            if let Err(error) = process.child.start_kill() {
                say(&format!("the broker could not be killed: {error}"));
            }
        }
        if std::thread::panicking() {
            say(&format!("log of the broker:\n{}", self.log()));
        }
        if std::env::var_os("CONFORMANCE_KEEP").is_some() {
            say(&format!("{} stays", self.folder.display()));
        } else if self.folder.exists()
            && let Err(error) = std::fs::remove_dir_all(&self.folder)
        {
            say(&format!("{} stays: {error}", self.folder.display()));
        }
    }
}

async fn read_ports(lines: &mut Lines<BufReader<ChildStdout>>) -> Result<Ports, Failure> {
    let mut ports = Ports::default();
    while let Some(line) = lines.next_line().await? {
        ports.read_line(&line)?;
        if line.trim() == "ready" {
            return Ok(ports);
        }
    }
    Err(Failure::new("the broker ended before it was ready"))
}
