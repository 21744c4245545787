package sql

import (
	"encoding/hex"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"dtstore/table"
)

// stringValue decodes a String token. The letter is the prefix in lower case
// ('e', 'u', 'b', 'x', 'n', '$', or 0 for a plain string); for 'b' and 'x' the
// value is the text between the quotes. escape is the character of UESCAPE.
func stringValue(token string, escape byte) (value string, letter byte, err *table.Error) {
	body := token
	switch c := token[0]; {
	case c == '$':
		n := strings.IndexByte(token[1:], '$') + 2
		return token[n : len(token)-n], '$', nil
	case c == '\'':
	case c|32 == 'u':
		letter, body = 'u', token[2:]
	default:
		letter, body = c|32, token[1:]
	}
	plain := len(body) >= 2 && strings.IndexByte(body[1:len(body)-1], '\'') < 0
	if plain {
		body = body[1 : len(body)-1]
	} else {
		body = unquoteParts(body, letter == 'e')
	}
	switch letter {
	case 'e':
		value, err = unescape(body)
	case 'u':
		value, err = unicodeEscapes(body, escape)
	default:
		value = body
	}
	if err == nil && strings.IndexByte(value, 0) >= 0 {
		err = table.Errorf("22021", "invalid byte sequence for encoding \"UTF8\": 0x00")
	}
	return value, letter, err
}

// unquoteParts joins the parts of a continued string and undoubles its quotes.
// With backslashes, \' stays as it is.
func unquoteParts(s string, backslash bool) string {
	var b strings.Builder
	i := 1
	for i < len(s) {
		switch {
		case backslash && s[i] == '\\' && i+1 < len(s):
			b.WriteString(s[i : i+2])
			i += 2
		case s[i] == '\'' && i+1 < len(s) && s[i+1] == '\'':
			b.WriteByte('\'')
			i += 2
		case s[i] == '\'':
			next, ok := continuation(s, i+1)
			if !ok {
				return b.String()
			}
			i = next
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return b.String()
}

// unescape decodes the backslashes of E'…'.
func unescape(s string) (string, *table.Error) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		c := s[i]
		if c != '\\' || i+1 >= len(s) {
			b.WriteByte(c)
			i++
			continue
		}
		c = s[i+1]
		i += 2
		switch c {
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'v':
			b.WriteByte('\v')
		case 'x':
			n := prefixLen(s[i:], 2, "0123456789abcdefABCDEF")
			if n == 0 {
				b.WriteByte('x')
				break
			}
			v, _ := strconv.ParseUint(s[i:i+n], 16, 8)
			b.WriteByte(byte(v))
			i += n
		case '0', '1', '2', '3', '4', '5', '6', '7':
			n := prefixLen(s[i-1:], 3, "01234567")
			v, _ := strconv.ParseUint(s[i-1:i-1+n], 8, 16)
			b.WriteByte(byte(v))
			i += n - 1
		case 'u', 'U':
			n := 4
			if c == 'U' {
				n = 8
			}
			r, used, err := codePoint(s[i:], n, "\\"+string(c))
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
			i += used
		default:
			b.WriteByte(c)
		}
	}
	if !utf8.ValidString(b.String()) {
		return "", table.Errorf("22021", "invalid byte sequence for encoding \"UTF8\" in an escape string")
	}
	return b.String(), nil
}

func prefixLen(s string, most int, set string) int {
	n := 0
	for n < len(s) && n < most && strings.IndexByte(set, s[n]) >= 0 {
		n++
	}
	return n
}

// codePoint reads n hexadecimal digits, and the second half of a surrogate pair
// behind its own mark.
func codePoint(s string, n int, mark string) (rune, int, *table.Error) {
	bad := func() (rune, int, *table.Error) {
		return 0, 0, table.Errorf("22025", "invalid Unicode escape").
			WithHint("Unicode escapes are \\XXXX and \\+XXXXXX in U&'…', \\uXXXX and \\UXXXXXXXX in E'…'.")
	}
	one := func(s string) (rune, bool) {
		if len(s) < n || prefixLen(s, n, "0123456789abcdefABCDEF") < n {
			return 0, false
		}
		v, err := strconv.ParseUint(s[:n], 16, 32)
		return rune(v), err == nil && v <= utf8.MaxRune && v > 0
	}
	r, ok := one(s)
	if !ok {
		return bad()
	}
	if !utf16.IsSurrogate(r) {
		return r, n, nil
	}
	rest, ok := strings.CutPrefix(s[n:], mark)
	if !ok {
		return bad()
	}
	low, ok := one(rest)
	if !ok {
		return bad()
	}
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return bad()
	}
	return r, n + len(mark) + n, nil
}

// unicodeEscapes decodes U&'…' and U&"…".
func unicodeEscapes(s string, escape byte) (string, *table.Error) {
	var b strings.Builder
	esc := string(escape)
	for i := 0; i < len(s); {
		if s[i] != escape {
			b.WriteByte(s[i])
			i++
			continue
		}
		i++
		if i < len(s) && s[i] == escape {
			b.WriteByte(escape)
			i++
			continue
		}
		n, mark := 4, esc
		if i < len(s) && s[i] == '+' {
			n, mark, i = 6, esc+"+", i+1
		}
		r, used, err := codePoint(s[i:], n, mark)
		if err != nil {
			return "", err
		}
		b.WriteRune(r)
		i += used
	}
	return b.String(), nil
}

// identValue is the name that a Word, Quoted or Backtick token gives.
func identValue(kind Kind, token string) (string, *table.Error) {
	switch kind {
	case Word:
		return Fold(token), nil
	case Backtick:
		return strings.ReplaceAll(token[1:len(token)-1], "``", "`"), nil
	}
	unicode := token[0] != '"'
	if unicode {
		token = token[2:]
	}
	name := token[1 : len(token)-1]
	if strings.IndexByte(name, '"') >= 0 {
		name = strings.ReplaceAll(name, `""`, `"`)
	}
	if unicode {
		return unicodeEscapes(name, '\\')
	}
	return name, nil
}

// numberValue writes a Number token as a plain decimal: without underscores and other bases.
func numberValue(token string) string {
	if strings.IndexByte(token, '_') >= 0 {
		token = strings.ReplaceAll(token, "_", "")
	}
	if len(token) > 2 && token[0] == '0' && token[1] > '9' && token[1]|32 != 'e' {
		return otherBase(token)
	}
	return token
}

// hexValue decodes the digits of X'…'.
func hexValue(digits string) (string, *table.Error) {
	b, err := hex.DecodeString(digits)
	if err != nil {
		return "", table.Errorf("22P02", "invalid hexadecimal string: X'%s'", digits).
			WithHint("Write two hexadecimal digits for each byte.")
	}
	return string(b), nil
}

// maxBaseDigits bounds the digits of 0x…: 128 bits are more than any type holds.
const maxBaseDigits = 128

func otherBase(token string) string {
	if len(token) > maxBaseDigits+2 {
		return token // refused by whoever reads it as a number
	}
	v, ok := new(big.Int).SetString(token, 0)
	if !ok {
		return token
	}
	return v.String()
}
