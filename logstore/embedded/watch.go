package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kfake"
)

// ErrBroken: a write or a sync of the log failed. Nothing more may be written
// until the server is started again, which mends the files.
var ErrBroken = errors.New("the embedded log is broken until the server is restarted")

// watch is kfake's logger. kfake tells of a failed write nowhere else: it
// answers an error once, then acknowledges the same batch sent again, with
// nothing on the disk. It logs before it answers, so who looks at broken after
// an answer knows.
type watch struct {
	log    *slog.Logger
	broken atomic.Pointer[error]
}

// persistFaults are the beginnings of the formats of kfake's messages that
// mean that its files and its memory differ. The test reads them in kfake's
// source.
var persistFaults = []string{
	"persist ",         // a batch, a group or producer entry, topics.json and the like
	"endTx: failed",    // a marker: EndTxn is answered as if it were there
	"rebuildSegments",  // a compacted partition's new files
	"delete topic",     // files of a dropped topic stay, and come back under its name
	"partition %s-%d ", // while opening: it cuts segments, which the seal has done already
	"partition %s-%d:", // while opening: markers it cannot read
	"pids.log:",        // while opening: torn ends, which the seal has cut
	"groups.log:",
}

// Logf implements kfake.Logger.
func (w *watch) Logf(level kfake.LogLevel, format string, args ...any) {
	if level > kfake.LogLevelWarn {
		return
	}
	for _, f := range persistFaults {
		if strings.HasPrefix(format, f) {
			w.fail(fmt.Errorf(format, args...))
			return
		}
	}
	if level == kfake.LogLevelError {
		w.log.Error("embedded log: " + fmt.Sprintf(format, args...))
		return
	}
	// Warnings are of slow clients and expired sessions.
	w.log.LogAttrs(context.Background(), slog.LevelDebug, "embedded log: "+fmt.Sprintf(format, args...))
}

// fail makes the log broken; the first cause stays.
func (w *watch) fail(cause error) error {
	err := fmt.Errorf("%w: %w", ErrBroken, cause)
	if w.broken.CompareAndSwap(nil, &err) {
		w.log.Error("the embedded log is broken: writes are refused until the server is restarted", "cause", cause)
	}
	return *w.broken.Load()
}

func (w *watch) err() error {
	if err := w.broken.Load(); err != nil {
		return *err
	}
	return nil
}
