//go:build peers

package logstore_test

import (
	"os"
	"strings"
)

func init() {
	if b := os.Getenv("DTSTORE_KAFKA"); b != "" {
		external = strings.Split(b, ",")
	}
}
