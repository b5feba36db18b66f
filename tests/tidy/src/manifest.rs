//! Reads the few things of a `Cargo.toml` that the rules need, line by line: its name and its dependencies.

/// A crate's manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// `package.name`; empty for a virtual manifest.
    pub(crate) name: String,
    /// Names under `[dependencies]`, `[build-dependencies]` and their `[target.….]` forms; never dev ones.
    pub(crate) dependencies: Vec<(usize, String)>,
}

impl Manifest {
    /// Reads `text`.
    pub(crate) fn new(text: &str) -> Self {
        let mut manifest = Self::default();
        let mut section = String::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if let Some(header) = line.strip_prefix('[') {
                section = header.trim_end_matches(']').to_owned();
                // The long form: [dependencies.name]
                if let Some((table, name)) = section.rsplit_once('.')
                    && is_dependency_table(table)
                {
                    manifest.dependencies.push((index + 1, name.trim_matches('"').to_owned()));
                }
                continue;
            }
            let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else { continue };
            let key = key.trim();
            if section == "package" && key == "name" {
                value.trim().trim_matches('"').clone_into(&mut manifest.name);
            } else if is_dependency_table(&section) {
                let name = key.split('.').next().unwrap_or(key).trim_matches('"');
                manifest.dependencies.push((index + 1, name.to_owned()));
            }
        }
        manifest
    }
}

fn is_dependency_table(section: &str) -> bool {
    let last = section.rsplit('.').next().unwrap_or(section);
    matches!(last, "dependencies" | "build-dependencies") && !section.starts_with("workspace")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_each_form_of_a_dependency() {
        let text = "[package]\nname = \"a\"\n[dependencies]\nb = \"1\"\nc.workspace = true\n# d = \"1\"\n[dev-dependencies]\ne = \"1\"\n\
                    [dependencies.f]\nversion = \"1\"\n[target.'cfg(unix)'.dependencies]\ng = { version = \"1\" }\n";
        let manifest = Manifest::new(text);
        assert_eq!(manifest.name, "a");
        let names: Vec<&str> = manifest.dependencies.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["b", "c", "f", "g"]);
    }
}
