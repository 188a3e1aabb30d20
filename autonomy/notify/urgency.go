package notify

import "fmt"

// Urgency says how much something is worth an interruption.
type Urgency int

// The urgencies. The zero value is none.
const (
	Low Urgency = iota + 1
	Normal
	High
	Critical
)

func urgencies() []string { return []string{"", "low", "normal", "high", "critical"} }

// ParseUrgency reads one.
func ParseUrgency(s string) (Urgency, error) {
	for u, name := range urgencies() {
		if name == s && s != "" {
			return Urgency(u), nil
		}
	}
	return 0, fmt.Errorf("%q is no urgency; they are low, normal, high and critical", s)
}

func (u Urgency) String() string {
	if u < 0 || u > Critical {
		return ""
	}
	return urgencies()[u]
}

// MarshalText implements encoding.TextMarshaler.
func (u Urgency) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (u *Urgency) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*u = 0
		return nil
	}
	*u, err = ParseUrgency(string(b))
	return err
}
