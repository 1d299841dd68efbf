// Perf measures this library against Python on the same generated files in the
// same run, and writes what it measured as docs/performance.md:
//
//	go run -C internal/tools ./perf -size 10MB,100MB,1GB,4GB -ranks 64 -nsys 5000000 # the page in the repository
//	go run -C internal/tools ./perf                     # 10 MB, 100 MB and 1 GB
//	go run -C internal/tools ./perf -size 4GB -runs 3 -o /tmp/performance.md
//	go run -C internal/tools ./perf -size "" -nsys 5000000 -o /tmp/nsys.md
//
// Every figure of that page comes from one run of this program: nothing in it is
// written by hand. Each measurement is a process of its own; the programs take
// turns, so that a machine that slows down slows all of them; the figure is the
// median of the runs. Memory is the process's own high-water mark of resident
// memory. Files are removed as soon as they are not needed any more; those of 4 GB
// take 5 GB of disk. Python is left out, and the page says why, where it would
// need more memory than there is, and above the size of -python-max.
package main
