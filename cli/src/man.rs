//! Makes the manual page of a tool from the definitions of its commands.
//!
//! ```text
//!  clap ──▶ NAME, SYNOPSIS, OPTIONS … of the tool, then a section for each command ──▶ roff
//! ```
//!
//! Design: `.cnv.man` in `design/eventcnv.md`.

use crate::Stop;
use clap::Command;
use clap_mangen::Man;
use std::io::{self, Write};

/// Prints the manual page of a tool on standard output; `tool` describes all commands.
pub fn print(tool: Command) -> Result<bool, Stop> {
    let mut text = Vec::new();
    write(tool, &mut text)?;
    io::stdout().lock().write_all(&text)?;
    Ok(true)
}

/// Sections that become subsections in the section of a command.
const SECTIONS: [(&str, &str); 4] = [
    (".SH SYNOPSIS", ".SS \"Synopsis of"),
    (".SH DESCRIPTION", ".SS \"Description of"),
    (".SH OPTIONS", ".SS \"Options of"),
    (".SH SELECTION", ".SS \"Selection of"),
];

fn write(mut tool: Command, out: &mut dyn Write) -> io::Result<()> {
    tool.build();
    let version = tool.get_version().unwrap_or_default().to_owned();
    let name = tool.get_name().to_owned();
    let man = Man::new(tool.clone()).source(format!("{name} {version}"));
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    write_forms_and_examples(&tool, ".SH \"FORMS AND EXAMPLES\"", out)?;
    for command in tool.get_subcommands().filter(|command| !command.is_hide_set()) {
        write_command(command, out)?;
    }
    Ok(())
}

/// Writes the section of a command, and of its subcommands.
fn write_command(command: &Command, out: &mut dyn Write) -> io::Result<()> {
    let name = command.get_bin_name().unwrap_or_default();
    writeln!(out, ".SH \"{}\"", name.to_uppercase())?;
    let mut text = Vec::new();
    Man::new(command.clone().long_about(None)).render_description_section(&mut text)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    for line in text.lines().filter(|line| !line.starts_with(".SH")) {
        writeln!(out, "{line}")?;
    }
    let man = Man::new(command.clone());
    let mut text = Vec::new();
    man.render_synopsis_section(&mut text)?;
    if command.get_long_about().is_some() {
        man.render_description_section(&mut text)?;
    }
    man.render_options_section(&mut text)?;
    for line in String::from_utf8_lossy(&text).lines() {
        match SECTIONS.iter().find(|(heading, _)| line == *heading) {
            Some((_, heading)) => writeln!(out, "{heading} {name}\"")?,
            None => writeln!(out, "{line}")?,
        }
    }
    write_forms_and_examples(command, &format!(".SS \"Examples of {name}\""), out)?;
    for inner in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        write_command(inner, out)?;
    }
    Ok(())
}

/// Writes the text of the help after the options, line by line.
fn write_forms_and_examples(
    command: &Command,
    heading: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(text) = command.get_after_long_help() else { return Ok(()) };
    writeln!(out, "{heading}\n.nf")?;
    for line in text.to_string().lines() {
        // Escapes characters that roff would interpret.
        writeln!(out, "\\&{}", line.replace('\\', "\\e").replace('-', "\\-"))?;
    }
    writeln!(out, ".fi")
}
