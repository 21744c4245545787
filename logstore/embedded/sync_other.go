//go:build unix && !linux

package embedded

import "os"

// datasync puts a file's bytes on the disk.
func datasync(f *os.File) error { return f.Sync() }
