package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a span of time, written "30s", "15m", "2h" or "7d".
type Duration struct{ time.Duration }

// UnmarshalText reads a duration.
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

// MarshalText writes the shortest form: "30s" instead of "0h0m30s".
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
