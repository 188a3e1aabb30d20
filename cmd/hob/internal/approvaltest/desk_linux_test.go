package approvaltest

import (
	"net/http"
	"strings"
	"testing"

	"hob/channels"
	"hob/channels/desktop"
	"hob/platform/host/desktop/desktoptest"
)

// openDesktop opens a desktop that shows notifications. The user cannot send messages there, so a
// trigger causes the request.
func openDesktop(t *testing.T) *chatChannel {
	bus := desktoptest.NewBus(t)
	screen := desktoptest.NewServer(t, bus, "actions", "body")
	p := &chatChannel{
		section: "[channels.desktop]\n", more: "[notify]\nchannel = \"desktop\"\n", proven: true, trial: true, mute: true,
		driver: simulatedDriver{desktop.Name, func(decode func(any) error, deps channels.Deps) (channels.Channel, error) {
			var c desktop.Config
			if err := decode(&c); err != nil {
				return nil, err
			}
			return desktop.New(c, deps, desktop.Options{Getenv: bus.Getenv})
		}},
	}
	for _, mark := range []string{"task-alone-no", "task-alone-yes"} {
		p.more += "[triggers." + mark + "]\naction = \"Please carry out " + mark + "\"\n"
	}
	p.ask = func(order string) {
		mark := ordered.FindStringSubmatch(order)[1]
		if status, said := p.h.callAPI(http.MethodPost, "/api/v1/triggers/"+mark+"/fire", []byte("{}"), clientHeaders(p.h.token, "")); status >= 300 {
			t.Errorf("%d %s", status, said)
		}
	}
	p.say = func(string, bool, string) bool { return false }
	p.press = func(_ string, _ bool, question string, yes bool) {
		for _, n := range screen.All() {
			key := map[bool]string{true: "yes ", false: "no "}[yes] + question
			for _, a := range n.Actions {
				if a == key {
					screen.Press(n.ID, key)
					return
				}
			}
		}
		t.Errorf("no notification has a button for %s", question)
	}
	p.saw = func(part string) bool {
		for _, n := range screen.All() {
			if strings.Contains(n.Title+"\n"+n.Body+"\n"+strings.Join(n.Actions, "\n"), part) {
				return true
			}
		}
		return false
	}
	return p
}
