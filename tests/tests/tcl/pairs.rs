//! Beginnings and ends of calls in scripts that make them hard to pair.
//!
//! ```text
//!  aliases, imports, coroutines, errors, tail calls ─▶ counts of the script = edges of the log
//! ```

use crate::place::{ON, Place, RELEASE, expected, query};
use std::collections::BTreeMap;
use std::path::Path;

/// T27: a call has the name of the procedure's origin at that time.
#[test]
fn a_call_has_the_name_of_its_origin() {
    let place = Place::new();
    let script = format!(
        "{RELEASE}
        namespace eval ::from {{
            proc one {{args}} {{return}}
            proc two {{args}} {{return}}
            namespace export one
            namespace ensemble create -command ::group -map {{x ::from::two}}
        }}
        namespace eval ::into {{namespace import ::from::one; proc call {{}} {{one; group x 1 2}}}}
        into::call
        interp alias {{}} other {{}} ::into::one 1
        other 2
        # The alias of an alias.
        interp alias {{}} another {{}} other
        another
        # A command that is renamed keeps its calls under each name.
        proc old {{count}} {{
            if {{$count == 0}} return
            rename ::old ::new
            new [expr {{$count - 1}}]
        }}
        old 1
        # A procedure that is redefined while it runs.
        proc again {{}} {{proc again {{}} {{}}; again}}
        again
        again
        # A procedure that deletes itself; its address may be that of a later one.
        proc gone {{}} {{rename gone {{}}; proc here {{}} {{}}; here}}
        gone
        here
        # A wrapper of a command.
        rename ::from::two ::from::real
        proc ::from::two {{args}} {{uplevel 1 [list ::from::real {{*}}$args]}}
        group x
        # A procedure that does nothing: Tcl would compile its call to nothing.
        proc nothing {{args}} {{ }}
        proc caller {{}} {{nothing 1; nothing}}
        caller
        # The same under the name of an import.
        namespace eval ::from {{proc empty args {{}}; namespace export empty}}
        namespace eval ::into {{namespace import ::from::empty; proc quiet {{}} {{empty; empty 1}}}}
        into::quiet
        # proc itself under another name, and wrapped.
        rename proc define
        define proc {{args}} {{uplevel 1 [list define {{*}}$args]}}
        proc wrapped {{}} {{}}
        wrapped"
    );
    place.run(&script, ON);
    let edges = "- ::into::call 1 \n ::into::call ::from::one 1 \n ::into::call ::from::two 1 \n \
                 - ::from::one 2 \n - ::old 1 \n ::old ::new 1 \n - ::again 2 \n \
                 ::again ::again 1 \n - ::gone 1 \n ::gone ::here 1 \n - ::here 1 \n \
                 - ::from::two 1 \n ::from::two ::from::real 1 \n - ::proc 1 \n - ::wrapped 1 \n \
                 - ::caller 1 \n ::caller ::nothing 2 \n \
                 - ::into::quiet 1 \n ::into::quiet ::from::empty 2";
    assert_eq!(place.edges(), expected(edges));
    assert_whole(&place.log());
}

/// Asserts that each call of a log has its beginning and its end.
fn assert_whole(log: &Path) {
    let rows = query(&[log.to_owned()], "SELECT verdict, count(*) FROM calls GROUP BY 1");
    assert!(matches!(&rows[..], [row] if row[0] == "whole"), "{rows:?}");
}

/// T16: coroutines that interleave, resume each other, are deleted while they wait, and fail.
#[test]
fn coroutines_keep_their_callers() {
    let place = Place::new();
    let script = format!(
        "{RELEASE}
        proc leaf {{}} {{}}
        proc wait {{}} {{leaf; yield; leaf}}
        proc body {{count}} {{for {{set i 0}} {{$i < $count}} {{incr i}} wait}}
        proc turn {{args}} {{foreach c $args {{$c}}; leaf}}
        # Interleaved: the two end in turns.
        coroutine a body 3
        coroutine b body 2
        turn a b
        turn a
        turn b a
        # Deleted while it waits: its calls end.
        coroutine c body 1
        rename c {{}}
        leaf
        # Renamed, and resumed from another coroutine.
        coroutine d body 1
        rename d ::e
        proc drive {{name}} {{$name; leaf}}
        coroutine f drive e
        # An error ends all calls of a coroutine.
        proc fail {{}} {{yield; leaf; error x}}
        proc around {{}} {{fail}}
        coroutine g around
        catch {{turn g}}
        leaf
        # Symmetric: control goes from one to the other without a return.
        proc pass {{to}} {{leaf; yieldto $to; leaf}}
        proc stay {{}} {{yield; leaf}}
        coroutine h stay
        coroutine i pass h
        i
        # A coroutine of a lambda; one that ends at once; one that is running.
        coroutine j apply {{{{}} {{leaf; yield; leaf}}}}
        j
        coroutine k leaf
        catch {{coroutine}}
        catch {{coroutine l nothing}}
        proc self {{}} {{catch {{[info coroutine]}}; leaf; yield; leaf}}
        coroutine m self
        m
        leaf
        # One that renames itself before it first yields, in a namespace.
        namespace eval ::ns {{
            proc hide {{}} {{rename [info coroutine] ::hidden; ::leaf; yield; ::leaf}}
            coroutine n hide
        }}
        turn hidden
        # One whose first command yields.
        coroutine o yield
        turn o"
    );
    place.run(&script, ON);
    let edges = "- ::body 4 \n ::body ::wait 7 \n ::wait ::leaf 13 \n - ::turn 6 \n \
                 ::turn ::leaf 5 \n - ::ns::hide 1 \n \
                 ::ns::hide ::leaf 2 \n - ::leaf 6 \n - ::drive 1 \n ::drive ::leaf 1 \n \
                 - ::around 1 \n ::around ::fail 1 \n ::fail ::leaf 1 \n - ::stay 1 \n \
                 - ::pass 1 \n ::pass ::leaf 2 \n ::stay ::leaf 1 \n - ::self 1 \n ::self ::leaf 2";
    assert_eq!(place.edges(), expected(edges));
    assert_whole(&place.log());
}

/// A coroutine that waits takes no time: each has what it measured itself, also in the views of the
/// original. A bare `yield` has none of it.
#[test]
fn own_times_lack_the_waits_of_coroutines() {
    let place = Place::new();
    let script = format!(
        "{RELEASE}
        set begin [clock microseconds]
        proc busy {{name us}} {{
            set begin [clock microseconds]
            while {{[clock microseconds] - $begin < $us}} {{}}
            incr ::busy($name) [expr {{[clock microseconds] - $begin}}]
        }}
        proc wait {{}} {{yield}}
        foreach {{name us}} {{a 1000 b 2000 c 3000}} {{
            proc $name {{}} \
                [string map [list NAME $name US $us] {{
                    for {{set i 0}} {{$i < 5}} {{incr i}} {{busy NAME US; wait}}
                    busy NAME US
                }}]
        }}
        proc drive {{}} {{
            foreach c {{a b c}} {{coroutine ::c$c $c}}
            time {{busy drive 2000; foreach c {{a b c}} {{::c$c}}}} 5
        }}
        drive
        foreach name {{drive a b c}} {{puts \"$name $::busy($name)\"}}
        puts \"all [expr {{[clock microseconds] - $begin}}]\""
    );
    let printed = place.run(&script, ON).printed();
    let words = |line: &str| {
        let (name, us) = line.split_once(' ').expect("two words");
        (name.to_owned(), us.parse().expect("a number"))
    };
    let mut busy: BTreeMap<String, u64> = printed.lines().map(words).collect();
    let all = busy.remove("all").expect("all");
    let left = all - busy.values().sum::<u64>();
    let (log, database) = (place.files("log"), place.files("db"));
    let sql = "SELECT n.name, sum(c.own) / 1000, sum(c.duration) / 1000 \
               FROM calls AS c JOIN functions AS n USING(function) GROUP BY 1";
    let rows = query(&log, sql);
    let time = |name: &str| {
        let row = rows.iter().find(|row| row[0] == format!("::{name}")).expect(name);
        [1, 2].map(|at| row[at].parse::<u64>().expect("a number"))
    };
    let told = format!("{rows:?}; measured: {busy:?} of {all}");
    assert!(rows.iter().map(|row| row[1].parse::<u64>().expect("a number")).sum::<u64>() <= all);
    assert!(time("wait")[1] <= left, "{told}");
    for (name, busy) in &busy {
        assert!(time(name)[1] >= *busy && time(name)[1] <= busy + left, "{name}: {told}");
    }
    let connection = rusqlite::Connection::open(&database[0]).expect("a database");
    let sql = "SELECT total_exec_micros FROM calls_by_callee WHERE callee_name = '::wait'";
    let waits: i64 = connection.query_row(sql, [], |row| row.get(0)).expect("a row");
    assert!(waits.cast_unsigned() <= left, "{waits}: {told}");
}

/// Random numbers (xorshift), so that a seed gives the same script again.
struct Random(u64);

impl Random {
    fn below(&mut self, count: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % count
    }
}

/// Returns a random script that counts its own calls. Each call states its caller as an argument.
fn script_of(seed: u64) -> String {
    let random = &mut Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut script = format!("{RELEASE} namespace eval ::n {{}}\n namespace eval ::m {{}}\n");
    let count = 3 + random.below(6);
    for number in 0..count {
        let name = format!("::n::p{number}");
        let mut body = format!(
            "incr ::twin($caller,{name})\n if {{$depth <= 0}} {{return x}}\n incr depth -1\n"
        );
        for _ in 0..1 + random.below(3) {
            let callee = format!("p{}", random.below(count));
            let to = format!("{name} $depth");
            body += &match random.below(13) {
                0..=2 => format!("::n::{callee} {to}"),
                3 => format!("::alias_{callee} {to}"),
                4 => format!("::m::{callee} {to}"),
                5 => format!("uplevel 1 [list ::n::{callee} {to}]"),
                6 => format!("apply {{{{d}} {{::n::{callee} {name} $d}}}} $depth"),
                7 => format!("::group {callee} {to}"),
                8 => format!("catch {{::n::{callee} {to}; error oops}}"),
                9 => format!("::start {callee} $depth"),
                10 => "::resume".to_owned(),
                11 => format!("eval {{::n::{callee} {to}}}"),
                // A tail call has the caller of this call.
                _ => format!("if {{$depth % 2}} {{tailcall ::n::{callee} $caller $depth}}"),
            };
            body += "\n";
        }
        if random.below(2) == 0 {
            body += "if {[info coroutine] ne {}} yield\n";
        }
        if random.below(4) == 0 {
            body += "error oops\n";
        }
        // An error or a break of a callee is one of the caller, or is caught.
        let body = if random.below(2) == 0 { body } else { format!("catch {{{body}}}") };
        script += &format!("proc {name} {{caller depth}} {{{body}}}\n");
        script += &format!("interp alias {{}} ::alias_p{number} {{}} {name}\n");
    }
    let map: Vec<String> = (0..count).map(|number| format!("p{number} ::n::p{number}")).collect();
    script += &format!("namespace ensemble create -command ::group -map {{{}}}\n", map.join(" "));
    script +=
        "namespace eval ::n {namespace export *}; namespace eval ::m {namespace import ::n::*}
        # Aliases of lambdas: nothing has them as its caller.
        set waiting {}
        interp alias {} ::start {} apply {{callee depth} {
            catch {coroutine ::c[incr ::number] ::n::$callee {} $depth}
            if {[info commands ::c$::number] ne {}} {lappend ::waiting ::c$::number}
        }}
        interp alias {} ::resume {} apply {{} {
            set ::waiting [lassign $::waiting first]
            if {$first eq {}} return
            catch $first
            if {[info commands $first] ne {}} {lappend ::waiting $first}
        }}\n";
    for _ in 0..12 {
        script += &format!("catch {{::n::p{} {{}} {}}}\n", random.below(count), random.below(6));
        script += "::resume\n";
    }
    script += "foreach c [info commands ::c*] {
            if {[string match {::c[0-9]*} $c]} {rename $c {}}
        }
        ::turtles::capture_the_turtles
        foreach {edge count} [array get ::twin] {puts \"twin $edge,$count\"}";
    script
}

/// T1, T2, T16: random scripts. `TCL_SEEDS` makes it more of them.
#[test]
fn random_scripts_count_as_their_logs() {
    let seeds = std::env::var("TCL_SEEDS").map_or(6, |seeds| seeds.parse().expect("a number"));
    for seed in 1..=seeds {
        let place = Place::new();
        let script = script_of(seed);
        println!("seed {seed}");
        place.run(&script, ON).check();
        assert_whole(&place.log());
    }
}
