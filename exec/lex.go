package exec

import "strings"

// skipToken gives the end of the token of Postgres text that begins at i: a
// string, quoted name, comment, $tag$ string, parameter, word, or one byte.
func skipToken(s string, i int) int {
	switch c := s[i]; {
	case c == '\'':
		return skipQuoted(s, i+1, '\'', false)
	case (c == 'e' || c == 'E') && i+1 < len(s) && s[i+1] == '\'':
		return skipQuoted(s, i+2, '\'', true)
	case c == '"':
		return skipQuoted(s, i+1, '"', false)
	case strings.HasPrefix(s[i:], "--"):
		if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
			return i + n + 1
		}
		return len(s)
	case strings.HasPrefix(s[i:], "/*"):
		return skipComment(s, i)
	case c == '$':
		return skipDollar(s, i)
	case isWordStart(c):
		for i++; i < len(s) && isWord(s[i]); i++ {
		}
		return i
	case c >= '0' && c <= '9':
		for i++; i < len(s) && (isWord(s[i]) || s[i] == '.'); i++ {
		}
		return i
	}
	return i + 1
}

func isWordStart(c byte) bool { return c == '_' || c >= 0x80 || c|0x20 >= 'a' && c|0x20 <= 'z' }
func isWord(c byte) bool      { return isWordStart(c) || c == '$' || c >= '0' && c <= '9' }

func skipQuoted(s string, i int, quote byte, backslash bool) int {
	for ; i < len(s); i++ {
		switch {
		case backslash && s[i] == '\\':
			i++
		case s[i] == quote && i+1 < len(s) && s[i+1] == quote:
			i++
		case s[i] == quote:
			return i + 1
		}
	}
	return len(s)
}

func skipComment(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch {
		case strings.HasPrefix(s[i:], "/*"):
			depth++
			i += 2
		case strings.HasPrefix(s[i:], "*/"):
			i += 2
			if depth--; depth == 0 {
				return i
			}
		default:
			i++
		}
	}
	return len(s)
}

func skipDollar(s string, i int) int {
	j := i + 1
	if j < len(s) && s[j] >= '0' && s[j] <= '9' {
		for ; j < len(s) && s[j] >= '0' && s[j] <= '9'; j++ {
		}
		return j
	}
	for ; j < len(s) && s[j] != '$' && isWord(s[j]); j++ {
	}
	if j >= len(s) || s[j] != '$' {
		return i + 1
	}
	tag := s[i : j+1]
	if n := strings.Index(s[j+1:], tag); n >= 0 {
		return j + 1 + n + len(tag)
	}
	return len(s)
}

// fold makes unquoted words lower case, as Postgres does; every byte keeps its
// place. Strings, quoted names and comments stay.
func fold(s string) string {
	var b []byte
	for i := 0; i < len(s); {
		j := skipToken(s, i)
		if isWordStart(s[i]) && s[j-1] != '\'' {
			for k := i; k < j; k++ {
				if s[k] >= 'A' && s[k] <= 'Z' {
					if b == nil {
						b = []byte(s)
					}
					b[k] |= 0x20
				}
			}
		}
		i = j
	}
	if b == nil {
		return s
	}
	return string(b)
}
