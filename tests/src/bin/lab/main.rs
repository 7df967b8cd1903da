//! Commands of the lab: `cargo lab -- tools`, `up`, `idle`, `chaos`.

mod chaos;
mod idle;

use anyhow::Result;
use clap::{Parser, Subcommand};
use tests::lab::{self, Lab, progress, supervisor, tools::Tools};

#[derive(Parser)]
#[command(about = "A real hub and real spokes on this machine, without containers")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build the Go programs of the lab into the cache.
    Tools {
        /// Also the governance controllers.
        #[arg(long)]
        governance: bool,
    },
    /// Start a hub and spokes, print their kubeconfigs, and keep them until Ctrl-C.
    Up {
        /// Number of spokes; each joins under its own name.
        #[arg(long, default_value_t = 1)]
        spokes: u32,
    },
    /// Bring the sample repository to fulfilled, then count the manager's writes and its CPU at rest. Fails on any write.
    Idle(idle::Arguments),
    /// Kill the manager at random moments of a request, and check that it goes on. Fails if one run does.
    Chaos(chaos::Arguments),
    /// Run one program under a supervisor until this process ends; a test of the supervisor.
    #[command(hide = true)]
    Supervise {
        /// Directory for the logs.
        #[arg(long)]
        dir: std::path::PathBuf,
        /// Program and arguments.
        #[arg(last = true)]
        argv: Vec<String>,
    },
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Tools { governance } => {
            Tools::base()?;
            if governance {
                Tools::governance()?;
            }
            println!("The tools are in {}", lab::cache::dir()?.display());
            Ok(())
        }
        Command::Up { spokes } => lab::run(up(spokes)),
        Command::Idle(arguments) => lab::run(idle::run(arguments)),
        Command::Chaos(arguments) => lab::run(chaos::run(arguments)),
        Command::Supervise { dir, argv } => lab::run(supervise(dir, argv)),
    }
}

async fn up(spokes: u32) -> Result<()> {
    let lab = Lab::shared().await?;
    println!("hub: export KUBECONFIG={}", lab.hub().admin_kubeconfig().display());
    for number in 1..=spokes {
        let spoke = lab.joined_spoke(&format!("spoke{number}")).await?;
        println!("{}: export KUBECONFIG={}", spoke.name(), spoke.admin_kubeconfig().display());
    }
    println!("{}", lab::whereabouts());
    println!("process group: {}", lab.base().supervisor().group());
    println!("Ctrl-C ends it.");
    tokio::signal::ctrl_c().await?;
    progress::line("lab: ending");
    lab.base().supervisor().stop().await
}

async fn supervise(dir: std::path::PathBuf, argv: Vec<String>) -> Result<()> {
    let supervisor = supervisor::Supervisor::start(&dir).await?;
    println!("{}", supervisor.group());
    let Some((program, arguments)) = argv.split_first() else {
        return Ok(());
    };
    for name in ["one", "two"] {
        let program = supervisor::Program::new(name, std::path::Path::new(program), supervisor::Rank::Agent);
        println!("{}", supervisor.spawn(program.args(arguments.iter().cloned())).await?.pid());
    }
    std::future::pending().await
}
