package commands

import (
	"context"
	"fmt"
	"testing"

	"hob/autonomy/approvals"
	"hob/autonomy/bus"
	"hob/autonomy/intake/chattext"
)

// Anyone who reads a code may be the first to send it.
func TestCommands_ShowNoCodeInAGroup(t *testing.T) {
	l := &Commands{o: Options{Pairing: pairingCode("2345A-BCDEF")}}
	for shared, shown := range map[bool]bool{false: true, true: false} {
		got, err := l.cmdPair(t.Context(), bus.Event{Payload: fmt.Appendf(nil, `{"shared": %v}`, shared)}, "pigeon")
		if (err == nil) != shown || (got != "") != shown {
			t.Errorf("shared %v: %q, %v", shared, got, err)
		}
	}
}

func TestCommands_AllHaveAnImplementation(t *testing.T) {
	runs := (&Commands{o: Options{Approvals: new(approvals.Decider)}}).commandRuns()
	for _, c := range chattext.Commands() {
		if runs[c.Names[0]] == nil {
			t.Errorf("/%s has no implementation", c.Names[0])
		}
	}
	if len(runs) != len(chattext.Commands()) {
		t.Errorf("%d implementations of %d commands", len(runs), len(chattext.Commands()))
	}
}

// pairingCode is a Pairing with one code.
type pairingCode string

// PairingText implements Pairing.
func (c pairingCode) PairingText(context.Context, string, string) (string, error) {
	return string(c), nil
}
