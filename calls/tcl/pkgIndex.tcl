# Tells Tcl where the packages are: libturtles.so lies in the folder of this file, and eventcnv may.
package ifneeded turtles 0.1 [list load [file join $dir libturtles[info sharedlibextension]]]
package ifneeded turtles::options 0.1 {package require turtles 0.1}
