//! Writes everything that is generated, or compares it: `cargo gen`, `cargo gen -- --check`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use manifests::crds;

/// A generated file: path from the root of the workspace, and content.
type Output = (PathBuf, String);

/// Folders that hold nothing but generated files; what we no longer generate is removed from them.
const FOLDERS: &[&str] = &["manifests/crds", "manifests/crds/lab"];

fn outputs() -> Result<Vec<Output>, Box<dyn std::error::Error>> {
    let mut out = Vec::new();
    for crd in crds::own() {
        out.push((Path::new("manifests/crds").join(crds::file_name(&crd)), crds::to_yaml(&crd)?));
    }
    for crd in crds::lab() {
        out.push((Path::new("manifests/crds/lab").join(crds::file_name(&crd)), crds::to_yaml(&crd)?));
    }
    Ok(out)
}

fn main() -> ExitCode {
    let check = match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => {
            eprintln!("usage: cargo gen [-- --check]");
            return ExitCode::from(2);
        }
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match outputs().and_then(|outputs| run(&root, &outputs, check)) {
        Ok(differences) if check && differences > 0 => {
            eprintln!(
                "{differences} generated files are not up to date: run `cargo gen` and commit the result"
            );
            ExitCode::FAILURE
        }
        Ok(_) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

/// Writes, or only compares. Returns the number of files that differ.
fn run(root: &Path, outputs: &[Output], check: bool) -> Result<usize, Box<dyn std::error::Error>> {
    let mut differences = 0;
    for (path, text) in outputs {
        let file = root.join(path);
        match fs::read_to_string(&file) {
            Ok(old) if old == *text => continue,
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e.into()),
            _ => {}
        }
        differences += 1;
        if check {
            println!("differs  {}", path.display());
        } else {
            if let Some(folder) = file.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(&file, text)?;
            println!("wrote    {}", path.display());
        }
    }
    let wanted: BTreeSet<&Path> = outputs.iter().map(|(path, _)| path.as_path()).collect();
    for folder in FOLDERS {
        for entry in fs::read_dir(root.join(folder)).into_iter().flatten() {
            let entry = entry?;
            let path = Path::new(folder).join(entry.file_name());
            if !entry.file_type()?.is_file() || wanted.contains(path.as_path()) {
                continue;
            }
            differences += 1;
            if check {
                println!("stale    {}", path.display());
            } else {
                fs::remove_file(entry.path())?;
                println!("removed  {}", path.display());
            }
        }
    }
    Ok(differences)
}
