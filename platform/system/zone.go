package system

import (
	"fmt"
	"time"
	_ "time/tzdata" // systems without a zone database: Windows, small containers
)

// Zone loads an IANA time zone; "" and "Local" mean the zone of this machine
// (see LocalZone). The error names what is accepted.
func Zone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		n, err := LocalZone()
		if err != nil {
			return time.Local, nil // the right offset, only without a name
		}
		name = n
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%q is not a time zone; write an IANA name such as \"Europe/Vilnius\", \"UTC\" or \"Local\"", name)
	}
	return loc, nil
}

// LocalZone returns the IANA name of this machine's zone. When it cannot be
// told, the error says why; "Local" then still has the right offset.
func LocalZone() (string, error) {
	name, err := localZone()
	if err != nil {
		return "", err
	}
	if _, err := time.LoadLocation(name); err != nil {
		return "", fmt.Errorf("this machine's time zone %q is not an IANA zone; set agent.timezone", name)
	}
	return name, nil
}
