package wire

import (
	"context"
	"errors"
	"strings"

	"dtstore/table"

	"github.com/jackc/pgproto3/v2"
)

// answer makes the ErrorResponse of an error, without its severity.
func (c *conn) answer(err error) *pgproto3.ErrorResponse {
	var te *table.Error
	if errors.As(err, &te) {
		return response(te)
	}
	var coded interface {
		error
		SQLState() string
	}
	if errors.As(err, &coded) {
		e := table.Errorf(coded.SQLState(), "%s", err.Error())
		var hinted interface{ Hint() string }
		if errors.As(err, &hinted) {
			e = e.WithHint("%s", hinted.Hint())
		}
		return response(e)
	}
	if cause := context.Cause(c.run.context()); cause != nil {
		if errors.As(cause, &te) {
			return response(te)
		}
		return response(errCanceled)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return response(table.Errorf("57014", "canceling statement due to statement timeout"))
	}
	c.srv.opts.Logger.Error("internal error answered to a client", "pid", c.pid, "error", err)
	return response(table.Errorf("XX000", "internal error").WithDetail("The server's log has the cause."))
}

func response(e *table.Error) *pgproto3.ErrorResponse {
	code := e.Code
	if len(code) != 5 {
		code = "XX000"
	}
	return &pgproto3.ErrorResponse{
		Code: code, Message: printable(e.Message), Detail: printable(e.Detail), Hint: printable(e.Hint),
		Where: printable(e.Where), Position: int32(e.Position),
	}
}

// printable makes text safe to send as a NUL-terminated UTF-8 string.
func printable(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", `\0`)
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Notice is a message beside the result: a NoticeResponse.
type Notice struct {
	Severity     string // "" means NOTICE; or WARNING, INFO, LOG, DEBUG
	Code         string // "" means 00000, or 01000 for a WARNING
	Message      string
	Detail, Hint string
	Position     int // 1-based character in the statement's text; 0 means none
}

func (n Notice) encode(dst []byte) ([]byte, error) {
	if n.Severity == "" {
		n.Severity = "NOTICE"
	}
	if n.Code == "" {
		n.Code = "00000"
		if n.Severity == "WARNING" {
			n.Code = "01000"
		}
	}
	m := pgproto3.NoticeResponse{
		Severity: n.Severity, SeverityUnlocalized: n.Severity, Code: n.Code, Message: printable(n.Message),
		Detail: printable(n.Detail), Hint: printable(n.Hint), Position: int32(n.Position),
	}
	return m.Encode(dst)
}
