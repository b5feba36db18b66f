//! A broker process of the bench's own: on free ports of loopback, with a data folder that goes with it.
//!
//! It ends no process but this one, by its id, and leaves no file behind.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

/// How long a start may take: a recovery is what is measured, so it has time.
const START_MAX: Duration = Duration::from_secs(600);

/// How long a broker that was asked to end may take, and how often it is looked at.
const END_MAX: Duration = Duration::from_secs(60);
const END_EVERY: Duration = Duration::from_millis(20);

/// Bytes of its log that an error shows.
const LOG_SHOWN_BYTES: usize = 4_096;

/// A running broker.
#[derive(Debug)]
pub(crate) struct Broker {
    folder: PathBuf,
    settings: Vec<String>,
    child: Option<Child>,
    /// Where AMQP listens.
    pub(crate) amqp: SocketAddr,
    /// Where HTTP listens.
    pub(crate) http: SocketAddr,
    /// From the start of the process until it said `ready`.
    pub(crate) start_took: Duration,
}

impl Broker {
    /// Starts the binary that `BRAIDMQ` names on an empty data folder, with `settings` (`KEY=VALUE`) beyond its defaults.
    ///
    /// # Errors
    /// When it does not start; its log is in the message.
    pub(crate) fn start(name: &str, settings: &[String]) -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("braid-bench-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut broker = Self {
            folder,
            settings: settings.to_vec(),
            child: None,
            amqp: nowhere,
            http: nowhere,
            start_took: Duration::ZERO,
        };
        broker.launch()?;
        Ok(broker)
    }

    /// Starts it again on the data of the former run, after [`kill`](Self::kill) or [`stop`](Self::stop). Ports change.
    ///
    /// # Errors
    /// When it does not come back; its log is in the message.
    pub(crate) fn launch(&mut self) -> io::Result<()> {
        let binary = binary()?;
        let log = File::options().create(true).append(true).open(self.folder.join("log"))?;
        let mut command = Command::new(binary);
        command.arg("serve").arg("--data-dir").arg(self.data()).current_dir(&self.folder);
        for flag in ["--amqp-listen", "--http-listen"] {
            command.args([flag, "127.0.0.1:0"]);
        }
        for flag in ["--listen", "--mqtt-listen", "--nats-listen"] {
            command.args([flag, "off"]);
        }
        command.args(self.settings.iter().flat_map(|setting| ["--set", setting]));
        let began = Instant::now();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn()?;
        let output = child.stdout.take();
        self.child = Some(child);
        let lines = read(output.ok_or_else(|| io::Error::other("the broker has no output"))?);
        loop {
            let left = START_MAX.saturating_sub(began.elapsed());
            let line = lines.recv_timeout(left).map_err(|error| self.not_ready(error))?;
            match line.split_whitespace().collect::<Vec<_>>().as_slice() {
                ["listening", "amqp", address] => self.amqp = address.parse().map_err(io::Error::other)?,
                ["listening", "http", address] => self.http = address.parse().map_err(io::Error::other)?,
                ["ready"] => break,
                _ => {}
            }
        }
        self.start_took = began.elapsed();
        Ok(())
    }

    fn not_ready(&self, error: RecvTimeoutError) -> io::Error {
        let log = fs::read(self.folder.join("log")).unwrap_or_default();
        let shown = log.get(log.len().saturating_sub(LOG_SHOWN_BYTES)..).unwrap_or_default();
        let why = match error {
            RecvTimeoutError::Timeout => "is not ready",
            RecvTimeoutError::Disconnected => "ended before it was ready",
        };
        io::Error::other(format!("the broker {why}; the end of its log:\n{}", String::from_utf8_lossy(shown)))
    }

    /// Its process id.
    ///
    /// # Errors
    /// When it does not run.
    pub(crate) fn pid(&self) -> io::Result<u32> {
        self.child.as_ref().map(Child::id).ok_or_else(|| io::Error::other("the broker does not run"))
    }

    /// Its data folder.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Kills it at once (SIGKILL); returns when it is gone.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn kill(&mut self) -> io::Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        child.kill()?;
        child.wait().map(drop)
    }

    /// Asks it to end (SIGTERM); returns when it is gone.
    ///
    /// # Errors
    /// When it does not end; then it is killed.
    pub(crate) fn stop(&mut self) -> io::Result<()> {
        let asked = Command::new("kill").args(["-TERM", &self.pid()?.to_string()]).status()?;
        let began = Instant::now();
        while asked.success() && began.elapsed() < END_MAX {
            if self.child.as_mut().is_none_or(|child| child.try_wait().is_ok_and(|status| status.is_some())) {
                self.child = None;
                return Ok(());
            }
            thread::sleep(END_EVERY);
        }
        self.kill()?;
        Err(io::Error::other("the broker did not end when it was asked to"))
    }

    /// Removes what is on its disk from the memory of the system, so that the next start reads the disk. Only while it
    /// does not run; only its own files, because a machine may be shared.
    ///
    /// # Errors
    /// When a file cannot be read or there is no `dd`.
    pub(crate) fn drop_page_cache(&self) -> io::Result<()> {
        let mut folders = vec![self.data()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    drop_pages(&path)?;
                }
            }
        }
        Ok(())
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // There is nobody left to be told.
        drop(self.kill());
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// The file that `BRAIDMQ` names, as a whole path: the broker runs in a folder of its own.
fn binary() -> io::Result<PathBuf> {
    let path = std::env::var_os("BRAIDMQ").ok_or_else(|| io::Error::other("BRAIDMQ names no binary to start"))?;
    fs::canonicalize(&path).map_err(|error| io::Error::other(format!("BRAIDMQ={}: {error}", path.display())))
}

/// The lines of its output, read by a thread so that the pipe never fills.
fn read(output: ChildStdout) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // After `ready` nobody listens any more.
            drop(sender.send(line));
        }
    });
    lines
}

/// `posix_fadvise(DONTNEED)` on the whole file, as the manual of `dd` says it is done.
fn drop_pages(path: &Path) -> io::Result<()> {
    let mut file = std::ffi::OsString::from("of=");
    file.push(path);
    let mut command = Command::new("dd");
    command.arg(file).args(["oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none"]);
    let status = command.stdin(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("dd of {}: {status}", path.display()))) }
}
