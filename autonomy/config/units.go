package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"hob/platform/text/lazyregexp"
)

// Duration is a duration, written as "30s", "15m", "2h" or "7d".
type Duration struct{ time.Duration }

// UnmarshalText parses a duration.
func (d *Duration) UnmarshalText(b []byte) error {
	s := string(b)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > 3650 {
			return fmt.Errorf("%q is not a duration; write it as \"30s\", \"15m\", \"2h\" or \"7d\"", s)
		}
		d.Duration = time.Duration(n) * 24 * time.Hour
		return nil
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q is not a duration; write it as \"30s\", \"15m\", \"2h\" or \"7d\"", s)
	}
	d.Duration = v
	return nil
}

// MarshalText returns the shortest form: "30s" instead of "0h0m30s".
func (d Duration) MarshalText() ([]byte, error) {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return []byte(s), nil
}

// Size is a number of bytes, written as "10MB" or "500KB". 1 KB is 1024 bytes.
type Size struct{ Bytes int64 }

var sizeText = lazyregexp.New(`^([0-9]{1,9})(B|KB|MB|GB)$`)

// UnmarshalText parses a size.
func (s *Size) UnmarshalText(b []byte) error {
	m := sizeText.FindStringSubmatch(string(b))
	if m == nil {
		return fmt.Errorf("%q is not a size; write it as \"500KB\" or \"10MB\"", b)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil { // at most nine digits always fit
		return err
	}
	s.Bytes = n << map[string]int{"B": 0, "KB": 10, "MB": 20, "GB": 30}[m[2]]
	return nil
}

// MarshalText returns the shortest form.
func (s Size) MarshalText() ([]byte, error) {
	for _, u := range []struct {
		name  string
		shift int
	}{{"GB", 30}, {"MB", 20}, {"KB", 10}} {
		if s.Bytes > 0 && s.Bytes&(1<<u.shift-1) == 0 {
			return []byte(strconv.FormatInt(s.Bytes>>u.shift, 10) + u.name), nil
		}
	}
	return []byte(strconv.FormatInt(s.Bytes, 10) + "B"), nil
}
