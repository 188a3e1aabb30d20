package desktop

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"

	"hob/platform/host/osrun"
)

// Scripts that show notifications on systems for which there is no library. They are constant; the
// content is passed as JSON on standard input.
var (
	//go:embed banner.js
	bannerText string
	//go:embed toast.ps1
	toastText string
)

func bannerScript() osrun.Script { return osrun.NewScript("desktop/banner.js", bannerText) }

func toastScript() osrun.Script { return osrun.NewScript("desktop/toast.ps1", toastText) }

// bannerRequest is the input of banner.js. A banner has no buttons.
type bannerRequest struct {
	App   string `json:"app"`
	Title string `json:"title,omitempty"`
	Body  string `json:"body"`
	Sound string `json:"sound,omitempty"`
}

func newBanner(app string, n Notification) bannerRequest {
	r := bannerRequest{App: app, Title: n.Title, Body: n.Body}
	if n.Urgency == Critical {
		r.Sound = "Ping"
	}
	return r
}

// bannerError converts an error of the script banner.js. It returns nil if err is nil.
func bannerError(err error) error {
	e, ok := errors.AsType[*osrun.Error](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return fmt.Errorf("desktop: show the notification: %w", err)
	case e.Kind == osrun.Denied:
		return fmt.Errorf("desktop: %w: Script Editor may not show notifications (error %d); allow it in System Settings, Notifications, Script Editor", ErrNoServer, e.Number)
	case e.Kind == osrun.Timeout || e.Unknown:
		return fmt.Errorf("desktop: %w: %w", ErrUnsure, err)
	}
	return fmt.Errorf("desktop: show the notification: %w", err)
}

// aumid is the application id (AppUserModelID) of Hob's toasts.
const aumid = "Hob.Assistant"

// toastRequest is the input of toast.ps1.
type toastRequest struct {
	App      string `json:"app"`
	AUMID    string `json:"aumid"`
	Tag      string `json:"tag"`
	Group    string `json:"group"`
	XML      string `json:"xml,omitempty"`
	Withdraw bool   `json:"withdraw,omitempty"`
	Ask      bool   `json:"ask,omitempty"` // only query whether toasts are shown
}

func newToast(app string, n Notification) (toastRequest, error) {
	r := toastRequest{App: app, AUMID: aumid, Tag: toastTag(n.ID), Group: "hob"}
	text, err := toastXML(n)
	r.XML = text
	return r, err
}

// toastTag returns a hash of the id, because Windows limits tags to 64 characters.
func toastTag(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

// The toast schema: learn.microsoft.com, "Toast content schema".
type toastDoc struct {
	XMLName  xml.Name      `xml:"toast"`
	Scenario string        `xml:"scenario,attr,omitempty"`
	Type     string        `xml:"activationType,attr,omitempty"`
	Launch   string        `xml:"launch,attr,omitempty"`
	Texts    []string      `xml:"visual>binding>text"`
	Actions  []toastAction `xml:"actions>action,omitempty"`
}

type toastAction struct {
	Content string `xml:"content,attr"`
	Type    string `xml:"activationType,attr"`
	Args    string `xml:"arguments,attr"`
}

// toastXML encodes a notification. It includes only buttons that open an address, because presses
// of other buttons cannot be reported to this process.
func toastXML(n Notification) (string, error) {
	d := toastDoc{Texts: []string{n.Title, n.Body}}
	if n.Urgency == Critical {
		d.Scenario = "reminder"
	}
	for _, a := range n.Actions {
		switch {
		case a.URL == "":
		case a.Key == Default:
			d.Type, d.Launch = "protocol", a.URL
		default:
			d.Actions = append(d.Actions, toastAction{a.Label, "protocol", a.URL})
		}
	}
	if d.Scenario != "" && len(d.Actions) == 0 {
		d.Scenario = "" // a reminder without buttons is shown as an ordinary toast
	}
	b, err := xml.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("desktop: encode the toast: %w", err)
	}
	return strings.Replace(string(b), "<binding>", `<binding template="ToastGeneric">`, 1), nil
}

// toastAnswer is the output of toast.ps1.
type toastAnswer struct {
	Setting int `json:"setting"` // 0 means that toasts are shown
}

// toastError converts the result of toast.ps1. It returns nil if toasts are shown.
func toastError(a toastAnswer, err error) error {
	e, ok := errors.AsType[*osrun.Error](err)
	switch {
	case err == nil && a.Setting == 0:
		return nil
	case err == nil:
		return fmt.Errorf("desktop: %w: %s", ErrNoServer, settingText(a.Setting))
	case ok && e.Kind == osrun.PolicyBlocked:
		return fmt.Errorf("desktop: %w: %w", ErrNoServer, err)
	case ok && (e.Kind == osrun.Timeout || e.Unknown):
		return fmt.Errorf("desktop: %w: %w", ErrUnsure, err)
	}
	return fmt.Errorf("desktop: show toast: %w", err)
}

// settingText describes a NotificationSetting of WinRT.
func settingText(n int) string {
	switch n {
	case 1:
		return "notifications from Hob are off; turn them on in Settings, System, Notifications"
	case 2:
		return "notifications are off; turn them on in Settings, System, Notifications"
	case 3:
		return "your administrator has disabled notifications"
	}
	return fmt.Sprintf("Windows does not show notifications (setting %d)", n)
}
