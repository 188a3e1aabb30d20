package desktop

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Focus is the state of do-not-disturb.
type Focus string

// The possible states.
const (
	FocusOn      Focus = "on"
	FocusOff     Focus = "off"
	FocusUnknown Focus = "unknown"
)

// ReadFocusMode reports whether the user has enabled do-not-disturb, and which program reported it.
// FocusUnknown does not mean "off"; why then contains the reason.
func ReadFocusMode(ctx context.Context, o Options) (focus Focus, by string, why error) {
	o = o.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, o.Wait)
	defer cancel()
	return lookFocus(ctx, o)
}

// assertions is the content of ~/Library/DoNotDisturb/DB/Assertions.json in macOS 12 to 15. The
// format is undocumented, and the file is updated with a delay of up to a minute.
type assertions struct {
	Data []struct {
		Records []struct {
			Details struct {
				Mode string `json:"assertionDetailsModeIdentifier"`
			} `json:"assertionDetails"`
		} `json:"storeAssertionRecords"`
	} `json:"data"`
}

// readAssertions parses the assertions file.
func readAssertions(b []byte) (Focus, string, error) {
	var a assertions
	if err := json.Unmarshal(b, &a); err != nil || a.Data == nil {
		return FocusUnknown, "", fmt.Errorf("unknown format of the macOS focus file (%.40q)", b)
	}
	for _, d := range a.Data {
		for _, r := range d.Records {
			mode := strings.TrimPrefix(r.Details.Mode, "com.apple.")
			return FocusOn, strings.TrimPrefix(mode, "donotdisturb.mode."), nil
		}
	}
	return FocusOff, "macOS", nil
}

// focusState converts a QUERY_USER_NOTIFICATION_STATE of Windows (shellapi.h). That state does not
// include Focus Assist, so "accepts notifications" does not mean that Windows shows them.
func focusState(state int) (Focus, string, error) {
	switch state {
	case 2, 3, 4:
		return FocusOn, "a full-screen program or a presentation", nil
	case 6:
		return FocusOn, "quiet time", nil
	}
	return FocusUnknown, "", fmt.Errorf("do-not-disturb is not reported to programs by Windows (state %d)", state)
}
