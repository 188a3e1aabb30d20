package channels

import "fmt"

// Section finds a driver's part of the configuration: a strict decoder of
// [channels.NAME], and false when there is no such section or it is off.
type Section func(name string) (decode func(any) error, ok bool)

// Open makes the channels that the configuration asks for. One that cannot be
// made is named in failed with its reason and hinders no other. deps makes what the
// driver of this name may use.
func Open(drivers []Driver, section Section, deps func(name string) Deps) (opened map[string]Channel, failed map[string]error) {
	opened, failed = map[string]Channel{}, map[string]error{}
	for _, d := range drivers {
		decode, ok := section(d.Name())
		if !ok {
			continue
		}
		ch, err := d.New(decode, deps(d.Name()))
		if err != nil {
			failed[d.Name()] = fmt.Errorf("channels: %s: %w", d.Name(), err)
			continue
		}
		opened[d.Name()] = ch
	}
	return opened, failed
}
