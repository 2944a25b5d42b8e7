use std::env;

#[test]
fn is_cargos() {
    assert_eq!(env::var("CARGO_PKG_VERSION").unwrap(), "1.2.3");
    assert_eq!(env::var("CARGO_PKG_DESCRIPTION").unwrap(), "a crate with spaces in its \"description\"");
    assert_eq!(env::var("FROM_CONFIG").unwrap(), "of .cargo/config.toml");
    assert_eq!(env::current_dir().unwrap(), std::path::Path::new(env!("CARGO_MANIFEST_DIR")));
    assert!(env::var("LD_LIBRARY_PATH").unwrap().contains("/deps"));
}

#[test]
fn runs_the_binary() {
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_till")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stdout), "till\n");
}
