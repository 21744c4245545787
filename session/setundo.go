package session

import (
	"maps"
	"slices"
)

// setDone is one parameter that a statement changed.
type setDone struct {
	name          string
	before, after string
	wasSet, isSet bool // the session had a value of its own, has one
	local         bool
}

// save is the values to compare with once a statement has changed some.
func (s *settings) save() map[string]string { return maps.Clone(s.values) }

// put gives a parameter a value that was checked before, and tells the client.
func (s *settings) put(name, value string, isSet bool) {
	was := s.get(name)
	if isSet {
		s.values[name] = value
	} else {
		delete(s.values, name)
	}
	now := s.get(name)
	if now == was {
		return
	}
	switch name {
	case "timezone":
		if err := s.setTimeZone(now); err != nil {
			s.se.srv.Logger.Error("time zone cannot be set back", "zone", now, "err", err)
		}
		if !isSet {
			delete(s.values, name)
		}
	case "search_path":
		s.setPath([]string{now})
	}
	s.report(name)
}

// undo takes parameters back to what they were before.
func (s *settings) undo(sets []setDone) {
	for _, d := range slices.Backward(sets) {
		s.put(d.name, d.before, d.wasSet)
	}
}

// endLocal ends what SET LOCAL did: each parameter gets the value of the last
// plain SET, else the one it had before the transaction.
func (s *settings) endLocal(sets []setDone) {
	last := map[string]setDone{}
	for _, d := range sets {
		old, seen := last[d.name]
		switch {
		case !d.local:
			last[d.name] = setDone{name: d.name, after: d.after, isSet: d.isSet}
		case !seen:
			last[d.name] = setDone{name: d.name, after: d.before, isSet: d.wasSet, local: true}
		default:
			old.local = true
			last[d.name] = old
		}
	}
	for _, d := range last {
		if d.local {
			s.put(d.name, d.after, d.isSet)
		}
	}
}

// report tells the client of a parameter that it must know.
func (s *settings) report(name string) {
	if p := parameters[name]; p.report != "" {
		s.se.out.ParameterStatus(p.report, s.get(name))
	}
}

// changed notes what a statement has set, for the end of the transaction, and
// tells the client what it must know.
func (se *Session) changed(before map[string]string, local bool) {
	s := se.settings
	names := map[string]bool{}
	for n := range before {
		names[n] = true
	}
	for n := range s.values {
		names[n] = true
	}
	for n := range names {
		d := setDone{name: n, local: local}
		d.before, d.wasSet = before[n], has(before, n)
		d.after, d.isSet = s.values[n], has(s.values, n)
		if d.before == d.after && d.wasSet == d.isSet {
			continue
		}
		se.tx.sets = append(se.tx.sets, d)
		s.report(n)
	}
}

func has(m map[string]string, name string) bool {
	_, ok := m[name]
	return ok
}
