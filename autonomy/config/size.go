package config

import (
	"fmt"
	"regexp"
	"strconv"
)

// Size is a number of bytes, written "10MB" or "500KB"; 1 KB is 1024 bytes.
type Size struct{ Bytes int64 }

var sizeText = regexp.MustCompile(`^([0-9]{1,9})(B|KB|MB|GB)$`)

// UnmarshalText reads a size.
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

// MarshalText writes the shortest form.
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
