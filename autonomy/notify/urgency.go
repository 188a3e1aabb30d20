package notify

import "fmt"

// Urgency describes whether a notice justifies an interruption.
type Urgency int

// Values of Urgency. The zero value means unset.
const (
	Low Urgency = iota + 1
	Normal
	High
	Critical
)

func urgencyNames() []string { return []string{"", "low", "normal", "high", "critical"} }

// ParseUrgency parses the name of an urgency level.
func ParseUrgency(s string) (Urgency, error) {
	for u, name := range urgencyNames() {
		if name == s && s != "" {
			return Urgency(u), nil
		}
	}
	return 0, fmt.Errorf("%q is not an urgency; use low, normal, high or critical", s)
}

// OfPriority returns the urgency of a reminder with this priority, 0 for the default.
func OfPriority(priority string) Urgency {
	if priority == "medium" {
		return Normal
	}
	u, err := ParseUrgency(priority)
	if err != nil {
		return 0
	}
	return u
}

func (u Urgency) String() string {
	if u < 0 || u > Critical {
		return ""
	}
	return urgencyNames()[u]
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
