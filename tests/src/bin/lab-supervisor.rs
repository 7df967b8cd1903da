//! The process under which everything of a lab hangs; see `tests::lab::supervisor`.

use std::path::PathBuf;

use clap::Parser;
use tests::lab::supervisor;

#[derive(Parser)]
enum Mode {
    /// Take orders on standard input; end everything when it closes.
    Serve {
        /// The lab's directory, removed at the end unless it holds a file KEEP.
        #[arg(long)]
        dir: Option<PathBuf>,
    },
    /// Become another program that dies together with the supervisor.
    Exec {
        /// Process id of the supervisor.
        #[arg(long)]
        supervisor: u32,
        /// Program and arguments.
        #[arg(last = true)]
        argv: Vec<String>,
    },
}

fn main() -> anyhow::Result<()> {
    match Mode::parse() {
        // One thread: the kernel ties a child's death signal to the thread that started it.
        Mode::Serve { dir } => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?
            .block_on(supervisor::serve(dir)),
        Mode::Exec { supervisor, argv } => supervisor::exec(supervisor, &argv),
    }
}
