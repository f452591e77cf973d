//! The commands that features bring, in any build.

mod support;

use support::run;

/// A build has the command, or names it and says how to get it.
#[test]
fn a_command_of_a_feature_works_or_says_how_to_get_it() {
    for (name, is_built) in [
        ("parquet", cfg!(feature = "parquet")),
        ("paths", cfg!(feature = "paths")),
        ("query", cfg!(feature = "sql")),
        ("record", cfg!(feature = "record")),
        ("sql", cfg!(feature = "sql")),
        ("waits", cfg!(feature = "waits")),
    ] {
        for args in [[name].as_slice(), &[name, "--help"], &["help", name], &[name, "-v", "x.log"]]
        {
            let (_, code, errors) = run(args);
            let refusal = format!(
                "eventcnv: this eventcnv was built without the command {name}; cargo install \
                 --locked --path eventcnv builds it with all\n"
            );
            assert_eq!(errors == refusal, !is_built, "{args:?}: {errors}");
            assert!(is_built || code == 2, "{args:?}: exit code {code}");
        }
    }
}
