//go:build !unix

package objstore

import "os"

func readFile(path string) ([]byte, error) { return os.ReadFile(path) }
