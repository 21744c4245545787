package session

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"dtstore/exec"
	"dtstore/sql"
	"dtstore/table"
	"dtstore/wire"
)

// settings are a session's parameters: SET, SHOW, and what clients are told of
// them.
type settings struct {
	se     *Session
	values map[string]string // set in this session
	first  map[string]string // what the client asked for at the start: RESET goes back there
	loc    *time.Location
	path   []string
}

// setting describes one parameter.
type setting struct {
	def     string
	report  string // as clients are told it, in ParameterStatus; "" for others
	fixed   bool   // cannot be SET
	check   func(value string) (string, error)
	comment string
}

// serverVersion is the version of PostgreSQL whose catalog we show.
const serverVersion = "15.0"

var parameters = map[string]setting{
	"application_name":                    {report: "application_name", comment: "Name of the client program."},
	"backslash_quote":                     {def: "safe_encoding"},
	"bytea_output":                        {def: "hex", check: only("hex"), comment: "Output format of bytea."},
	"check_function_bodies":               {def: "on", check: boolean},
	"client_encoding":                     {def: "UTF8", report: "client_encoding", check: utf8Only, comment: "Encoding of the client: UTF8."},
	"client_min_messages":                 {def: "notice", comment: "Accepted; all notices are sent."},
	"datestyle":                           {def: "ISO, MDY", report: "DateStyle", check: dateStyle, comment: "Display of dates: ISO."},
	"default_tablespace":                  {},
	"default_transaction_isolation":       {def: "read committed", check: isolation, comment: "Isolation level of new transactions."},
	"default_transaction_read_only":       {def: "off", report: "default_transaction_read_only", check: boolean, comment: "Access mode of new transactions."},
	"default_transaction_deferrable":      {def: "off", check: boolean},
	"dtstore.read":                        {def: "latest", check: only("latest", "snapshot"), comment: "latest: files and log; snapshot: files alone, as of the latest snapshot."},
	"execution.runtime-mode":              {def: "batch", check: only("batch", "streaming"), comment: "streaming: a SELECT from a table goes on with its changes."},
	"escape_string_warning":               {def: "on", check: boolean},
	"extra_float_digits":                  {def: "1", comment: "Accepted; floats are always exact."},
	"idle_in_transaction_session_timeout": {def: "0", check: millis},
	"in_hot_standby":                      {def: "off", report: "in_hot_standby", fixed: true},
	"integer_datetimes":                   {def: "on", report: "integer_datetimes", fixed: true},
	"intervalstyle":                       {def: "postgres", report: "IntervalStyle", check: only("postgres"), comment: "Display of intervals."},
	"is_superuser":                        {def: "on", report: "is_superuser", fixed: true},
	"jit":                                 {def: "off", check: boolean},
	"lc_collate":                          {def: "C", fixed: true},
	"lc_ctype":                            {def: "C", fixed: true},
	"lc_messages":                         {def: "C"},
	"lc_monetary":                         {def: "C"},
	"lc_numeric":                          {def: "C"},
	"lc_time":                             {def: "C"},
	"lock_timeout":                        {def: "0", check: millis},
	"max_identifier_length":               {def: "63", fixed: true},
	"max_index_keys":                      {def: "32", fixed: true},
	"row_security":                        {def: "on", check: boolean},
	"search_path":                         {comment: "Schemas in which unqualified names are looked up."},
	"server_encoding":                     {def: "UTF8", report: "server_encoding", fixed: true},
	"server_version":                      {def: serverVersion, report: "server_version", fixed: true, comment: "The version of PostgreSQL whose catalog is shown."},
	"server_version_num":                  {def: "150000", fixed: true},
	"session_authorization":               {report: "session_authorization", fixed: true},
	"standard_conforming_strings":         {def: "on", report: "standard_conforming_strings", check: only("on"), comment: "Backslashes are literal in ordinary strings."},
	"statement_timeout":                   {def: "0", check: millis, comment: "Milliseconds after which a statement is cancelled; 0: never."},
	"synchronize_seqscans":                {def: "on", check: boolean},
	"synchronous_commit":                  {def: "on", comment: "Accepted; every commit is durable."},
	"timezone":                            {def: "UTC", report: "TimeZone", comment: "Zone of timestamps with time zone."},
	"transaction_isolation":               {def: "read committed", fixed: true, comment: "Isolation level of the current transaction."},
	"transaction_read_only":               {def: "off", fixed: true},
	"transaction_deferrable":              {def: "off", fixed: true},
	"work_mem":                            {def: "4MB"},
	"xmloption":                           {def: "content"},
}

func only(values ...string) func(string) (string, error) {
	return func(v string) (string, error) {
		low := strings.ToLower(v)
		if slices.Contains(values, low) {
			return low, nil
		}
		return "", fmt.Errorf("allowed: %s", strings.Join(values, ", "))
	}
}

func boolean(v string) (string, error) {
	switch strings.ToLower(v) {
	case "on", "true", "yes", "1", "t", "y":
		return "on", nil
	case "off", "false", "no", "0", "f", "n":
		return "off", nil
	}
	return "", fmt.Errorf("a boolean is needed")
}

var notName = regexp.MustCompile(`[^A-Za-z0-9]`)

// utf8Only looks at letters and digits alone, as Postgres does: asyncpg sends
// 'utf-8' with its quotes.
func utf8Only(v string) (string, error) {
	switch strings.ToUpper(notName.ReplaceAllString(v, "")) {
	case "UTF8", "UNICODE":
		return "UTF8", nil
	case "SQLASCII":
		return "SQL_ASCII", nil
	}
	return "", fmt.Errorf("conversion between %s and UTF8 is not supported", v)
}

func dateStyle(v string) (string, error) {
	order := "MDY"
	for w := range strings.SplitSeq(strings.ToUpper(v), ",") {
		switch w = strings.TrimSpace(w); w {
		case "ISO", "":
		case "MDY", "DMY", "YMD":
			order = w
		default:
			return "", fmt.Errorf("dates are shown in ISO style")
		}
	}
	return "ISO, " + order, nil
}

func isolation(v string) (string, error) {
	return only("read uncommitted", "read committed", "repeatable read", "serializable")(v)
}

// millis reads a time-out: a number of milliseconds or with a unit.
func millis(v string) (string, error) {
	s := strings.TrimSpace(strings.ToLower(v))
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz ")
	n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	unit, ok := map[string]float64{"": 1, "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000, "us": 0.001}[strings.TrimSpace(s[len(digits):])]
	if err != nil || !ok || n < 0 || n*unit > 1<<31-1 {
		return "", fmt.Errorf("a time such as 1500 or 30s is needed")
	}
	ms := int64(n * unit)
	switch {
	case ms == 0:
		return "0", nil
	case ms%60_000 == 0:
		return strconv.FormatInt(ms/60_000, 10) + "min", nil
	case ms%1000 == 0:
		return strconv.FormatInt(ms/1000, 10) + "s", nil
	}
	return strconv.FormatInt(ms, 10) + "ms", nil
}

func newSettings(se *Session, info wire.StartupInfo, path []string) *settings {
	s := &settings{se: se, values: map[string]string{}, loc: time.UTC, path: path}
	s.values["session_authorization"] = info.User
	s.values["search_path"] = strings.Join(path, ", ")
	return s
}

// start takes the parameters of the startup message, and tells the client all
// that it must know.
func (s *settings) start(ctx context.Context, w *wire.Writer) error {
	for name, value := range s.se.info.Params {
		name = strings.ToLower(name)
		if name == "options" {
			if err := s.options(value); err != nil {
				return err
			}
			continue
		}
		if name == "replication" {
			return table.Errorf("0A000", "replication connections are not supported").WithHint("A table's changes are in its Kafka topic, or in SET execution.runtime_mode = streaming.")
		}
		if err := s.set(name, []string{value}); err != nil && table.SQLState(err) != "42704" {
			return err
		}
	}
	s.first = maps.Clone(s.values)
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if r := parameters[name].report; r != "" {
			w.ParameterStatus(r, s.get(name))
		}
	}
	s.se.out.SetLocation(s.loc)
	s.identify()
	return nil
}

// options reads -c name=value from the startup parameter options.
func (s *settings) options(text string) error {
	words := strings.Fields(text)
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word == "-c" && i+1 < len(words) {
			i++
			word = words[i]
		} else if rest, ok := strings.CutPrefix(word, "--"); ok {
			word = rest
		} else if rest, ok := strings.CutPrefix(word, "-c"); ok {
			word = rest
		}
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return table.Errorf("22023", "invalid startup option %q", word)
		}
		if err := s.set(strings.ReplaceAll(strings.ToLower(name), "-", "_"), []string{strings.ReplaceAll(value, `\ `, " ")}); err != nil {
			return err
		}
	}
	return nil
}

// identify tells the engine who the session is.
func (s *settings) identify() {
	s.se.engine.SetIdentity(exec.Identity{User: s.se.info.User, Database: s.se.database, SearchPath: s.path, PID: int32(s.se.info.PID)})
}

// get is a parameter's value.
func (s *settings) get(name string) string {
	switch name {
	case "transaction_isolation":
		if s.se.tx != nil {
			return s.se.tx.isolation
		}
		return s.get("default_transaction_isolation")
	case "transaction_read_only":
		if s.se.tx != nil {
			return onOff(s.se.tx.readOnly)
		}
		return s.get("default_transaction_read_only")
	}
	if v, ok := s.values[name]; ok {
		return v
	}
	return parameters[name].def
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// lookup is get for current_setting; false for a name that does not exist.
func (s *settings) lookup(name string) (string, bool) {
	name = strings.ToLower(name)
	if _, ok := parameters[name]; !ok {
		v, ok := s.values[name]
		return v, ok
	}
	return s.get(name), true
}

// set checks and takes a value.
func (s *settings) set(name string, values []string) error {
	p, ok := parameters[name]
	if !ok {
		if strings.Contains(name, ".") && !strings.HasPrefix(name, "dtstore.") && !strings.HasPrefix(name, "execution.") {
			if len(s.values) > 1000 {
				return table.Errorf("53400", "a session can keep 1000 settings")
			}
			s.values[name] = strings.Join(values, ", ") // a placeholder of the client's own
			return nil
		}
		return unknownSetting(name)
	}
	if p.fixed {
		return table.Errorf("55P02", "parameter \"%s\" cannot be changed", name)
	}
	switch name {
	case "timezone":
		return s.setTimeZone(strings.Join(values, " "))
	case "search_path":
		s.setPath(values)
		return nil
	}
	value := strings.Join(values, ", ")
	if p.check != nil {
		v, err := p.check(value)
		if err != nil {
			return table.Errorf("22023", "invalid value for parameter \"%s\": \"%s\"", name, value).WithHint("%s.", capital(err.Error()))
		}
		value = v
	}
	s.values[name] = value
	return nil
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func unknownSetting(name string) error {
	err := table.Errorf("42704", "unrecognized configuration parameter \"%s\"", name)
	if near := table.Nearest(name, slices.Collect(maps.Keys(parameters))); near != "" {
		return err.WithHint("Perhaps you meant \"%s\".", near)
	}
	return err
}

func (s *settings) setTimeZone(name string) error {
	if v := strings.ToLower(name); v == "local" || v == "default" {
		name = "UTC"
	}
	loc, err := zone(name)
	if err != nil {
		return table.Errorf("22023", "invalid value for parameter \"TimeZone\": \"%s\"", name)
	}
	if err := s.se.engine.SetTimeZone(loc.String()); err != nil {
		return err
	}
	s.loc = loc
	s.values["timezone"] = loc.String()
	s.se.out.SetLocation(loc)
	return nil
}

// zone reads the name of a zone; a whole number of hours is east of UTC, as in
// Postgres' SET TIME ZONE.
func zone(name string) (*time.Location, error) {
	if n, err := strconv.ParseFloat(strings.TrimPrefix(name, "+"), 64); err == nil && n == float64(int(n)) && n > -13 && n < 15 {
		if n == 0 {
			return time.UTC, nil
		}
		return time.LoadLocation(fmt.Sprintf("Etc/GMT%+d", -int(n))) // POSIX counts west
	}
	if name == "" || strings.EqualFold(name, "local") || strings.ContainsAny(name, `.\`) {
		return nil, fmt.Errorf("no zone")
	}
	if strings.EqualFold(name, "utc") || strings.EqualFold(name, "gmt") || strings.EqualFold(name, "z") {
		return time.UTC, nil
	}
	return time.LoadLocation(name)
}

func (s *settings) setPath(values []string) {
	var path []string
	for _, v := range values {
		for name := range strings.SplitSeq(v, ",") {
			name = strings.Trim(strings.TrimSpace(name), `"`)
			if name != "" && name != "$user" && !slices.Contains(path, name) {
				path = append(path, name)
			}
		}
	}
	s.path = path
	s.values["search_path"] = strings.Join(values, ", ")
	s.identify()
}

// searchPath is the schemas of ours in which unqualified names are looked up.
func (s *settings) searchPath() []string {
	var out []string
	for _, p := range s.path {
		if p != "pg_catalog" && p != "information_schema" {
			out = append(out, p)
		}
	}
	return out
}

func (s *settings) location() *time.Location { return s.loc }
func (s *settings) streaming() bool          { return s.get("execution.runtime-mode") == "streaming" }
func (s *settings) readSnapshots() bool      { return s.get("dtstore.read") == "snapshot" }
func (s *settings) defaultReadOnly() bool    { return s.get("default_transaction_read_only") == "on" }
func (s *settings) defaultIsolation() string { return s.get("default_transaction_isolation") }

func (s *settings) statementTimeout() time.Duration {
	v := s.get("statement_timeout")
	digits := strings.TrimRight(v, "minsh")
	n, _ := strconv.ParseInt(digits, 10, 64)
	switch v[len(digits):] {
	case "s":
		return time.Duration(n) * time.Second
	case "min":
		return time.Duration(n) * time.Minute
	}
	return time.Duration(n) * time.Millisecond
}

func (s *settings) setCharacteristics(m sql.TransactionModes) {
	if m.Isolation != "" {
		s.values["default_transaction_isolation"] = m.Isolation
	}
	if m.ReadOnly {
		s.values["default_transaction_read_only"] = "on"
	}
	if m.ReadWrite {
		s.values["default_transaction_read_only"] = "off"
	}
}

// setting runs SET, RESET, SHOW and their like.
func (se *Session) setting(_ context.Context, stmt sql.Statement, w *wire.Writer) (*result, error) {
	s := se.settings
	switch x := stmt.(type) {
	case *sql.Set:
		before := s.save()
		if x.Local && !se.tx.explicit {
			w.Notice(wire.Notice{Severity: "WARNING", Code: "25P01", Message: "SET LOCAL can only be used in transaction blocks"})
			return done("SET"), nil
		}
		var err error
		if x.Default {
			err = s.reset(x.Name.Name)
		} else {
			err = s.set(x.Name.Name, x.Values)
		}
		if err != nil {
			return nil, atOrigin(err, x.Origin(), x.Name.Start)
		}
		se.changed(before, x.Local)
		return done("SET"), nil
	case *sql.Reset:
		before := s.save()
		if err := s.reset(x.Name.Name); err != nil {
			return nil, atOrigin(err, x.Origin(), x.Name.Start)
		}
		se.changed(before, false)
		return done("RESET"), nil
	case *sql.Use:
		return se.use(x)
	case *sql.Discard:
		if x.What == "ALL" {
			if se.tx.explicit {
				return nil, table.Errorf("25001", "DISCARD ALL cannot run inside a transaction block")
			}
			before := s.save()
			clear(se.statements)
			se.closeHeld()
			if err := s.reset(""); err != nil {
				return nil, err
			}
			se.changed(before, false)
		}
		return done("DISCARD " + x.What), nil
	case *sql.Show:
		v, ok := s.lookup(x.Name.Name)
		if !ok {
			return nil, atOrigin(unknownSetting(x.Name.Name), x.Origin(), x.Name.Start)
		}
		return fixed("SHOW", false, []wire.Column{textColumn(shownName(x.Name.Name))}, []table.Row{{table.StringOf(v)}}), nil
	case *sql.ShowAll:
		return s.showAll(x), nil
	case *sql.Help:
		var rows []table.Row
		for line := range strings.Lines(sql.HelpText()) {
			rows = append(rows, table.Row{table.StringOf(strings.TrimRight(line, "\n"))})
		}
		return fixed("HELP", false, []wire.Column{textColumn("help")}, rows), nil
	}
	return nil, table.Errorf("0A000", "%s is not supported", sql.Tag(stmt))
}

// shownName is the column of SHOW: as Postgres spells the parameter.
func shownName(name string) string {
	switch name {
	case "timezone":
		return "TimeZone"
	case "datestyle":
		return "DateStyle"
	case "intervalstyle":
		return "IntervalStyle"
	}
	return name
}

// reset takes a parameter, or all ("") of them, back to the session's start.
func (s *settings) reset(name string) error {
	if name != "" {
		p, ok := parameters[name]
		if _, own := s.values[name]; !ok && !own {
			return unknownSetting(name)
		}
		if p.fixed {
			return table.Errorf("55P02", "parameter \"%s\" cannot be changed", name)
		}
	}
	for n := range maps.Clone(s.values) {
		if name != "" && n != name {
			continue
		}
		if v, ok := s.first[n]; ok {
			s.values[n] = v
		} else {
			delete(s.values, n)
		}
	}
	if name == "" || name == "timezone" {
		if err := s.setTimeZone(s.get("timezone")); err != nil {
			return err
		}
	}
	if name == "" || name == "search_path" {
		s.setPath([]string{s.get("search_path")})
	}
	return nil
}

func (se *Session) use(x *sql.Use) (*result, error) {
	ok, err := se.srv.Catalog.HasDatabase(se.ctx, x.Name.Name)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, atOrigin(table.Errorf("3F000", "schema \"%s\" does not exist", x.Name.Name).WithHint("SHOW DATABASES lists those that do."), x.Origin(), x.Name.Start)
	}
	before := se.settings.save()
	se.settings.setPath([]string{x.Name.Name})
	se.changed(before, false)
	return done("USE"), nil
}
