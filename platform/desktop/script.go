package desktop

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"
	"unicode/utf16"

	_ "embed"
)

// The scripts that show notes where no library does. They are constant: what is
// to be shown goes in as JSON on their standard input.
var (
	//go:embed banner.js
	bannerScript string
	//go:embed toast.ps1
	toastScript string
)

// bannerRequest is a note as banner.js takes it. A banner has no buttons.
type bannerRequest struct {
	App   string `json:"app"`
	Title string `json:"title,omitempty"`
	Body  string `json:"body"`
	Sound string `json:"sound,omitempty"`
}

func newBanner(app string, n Note) bannerRequest {
	r := bannerRequest{App: app, Title: n.Title, Body: n.Body}
	if n.Urgency == Critical {
		r.Sound = "Ping"
	}
	return r
}

// scriptAnswer is what both scripts say.
type scriptAnswer struct {
	OK      bool   `json:"ok"`
	Reason  string `json:"reason,omitempty"`
	Number  int    `json:"number,omitempty"`
	Message string `json:"message,omitempty"`
}

// The error numbers of Apple events that have a remedy.
const (
	appleNotAllowed = -1743
	appleTimeout    = -1712
)

// readBanner reads what banner.js said.
func readBanner(out []byte) error {
	var a scriptAnswer
	switch err := json.Unmarshal(bytes.TrimSpace(out), &a); {
	case err != nil:
		return fmt.Errorf("desktop: osascript said something else than expected: %w", err)
	case a.OK:
		return nil
	case a.Number == appleNotAllowed:
		return fmt.Errorf("desktop: %w: allow it in System Settings, Notifications, Script Editor (%d)", ErrNoServer, a.Number)
	case a.Number == appleTimeout:
		return fmt.Errorf("desktop: %w: the system did not answer (%d)", ErrUnsure, a.Number)
	}
	return fmt.Errorf("desktop: osascript: %s (%d)", a.Message, a.Number)
}

// powershell's arguments: the script as base64 of UTF-16LE, which no quoting can
// change, and no policy about script files applies to.
func toastArgs() []string {
	return []string{"-NoLogo", "-NoProfile", "-NonInteractive", "-InputFormat", "None", "-ExecutionPolicy", "Bypass", "-EncodedCommand", encodeCommand(toastScript)}
}

func encodeCommand(script string) string {
	var b bytes.Buffer
	for _, u := range utf16.Encode([]rune(strings.ReplaceAll(script, "\r\n", "\n"))) {
		_ = binary.Write(&b, binary.LittleEndian, u) // a Buffer takes everything
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// aumid is the name under which Windows knows whose toasts these are.
const aumid = "Hob.Assistant"

// toastRequest is a note as toast.ps1 takes it.
type toastRequest struct {
	App      string `json:"app"`
	AUMID    string `json:"aumid"`
	Tag      string `json:"tag"`
	Group    string `json:"group"`
	XML      string `json:"xml,omitempty"`
	Withdraw bool   `json:"withdraw,omitempty"`
	Ask      bool   `json:"ask,omitempty"` // only whether toasts are shown
}

func newToast(app string, n Note) (toastRequest, error) {
	r := toastRequest{App: app, AUMID: aumid, Tag: tag(n.ID), Group: "hob"}
	text, err := toastXML(n)
	r.XML = text
	return r, err
}

// tag is an id in the at most 64 characters that Windows allows.
func tag(id string) string {
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

// toastXML writes a note. A press of a button cannot come back to this process,
// so that only those are shown which open an address.
func toastXML(n Note) (string, error) {
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
		d.Scenario = "" // a reminder without buttons is shown as a plain toast anyhow
	}
	b, err := xml.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("desktop: write a toast: %w", err)
	}
	return strings.Replace(string(b), "<binding>", `<binding template="ToastGeneric">`, 1), nil
}

// readToast reads what toast.ps1 said after its mark: a profile or a module may
// have printed before it.
func readToast(out []byte) error {
	_, said, found := bytes.Cut(out, []byte("\n--hob--\n"))
	var a scriptAnswer
	if !found || json.Unmarshal(said, &a) != nil {
		return fmt.Errorf("desktop: PowerShell said something else than expected: %.200q", out)
	}
	switch {
	case a.OK:
		return nil
	case a.Reason == "language":
		return fmt.Errorf("desktop: %w: PowerShell is in Constrained Language Mode, which your administrator has set", ErrNoServer)
	case a.Reason == "setting":
		return fmt.Errorf("desktop: %w: %s", ErrNoServer, settingText(a.Number))
	}
	return fmt.Errorf("desktop: toast: %s (0x%08x)", a.Message, uint32(a.Number)) //nolint:gosec // an HRESULT is shown by its bits
}

// settingText names a NotificationSetting of WinRT.
func settingText(n int) string {
	switch n {
	case 1:
		return "notifications of Hob are off; switch them on in Settings, System, Notifications"
	case 2:
		return "notifications are off; switch them on in Settings, System, Notifications"
	case 3:
		return "your administrator has switched notifications off"
	}
	return fmt.Sprintf("Windows says that they are not shown (%d)", n)
}

// ascii is JSON in which every character beyond ASCII is escaped, so that no code
// page of the other side matters.
func ascii(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("desktop: %w", err)
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		if r < 0x7f {
			out.WriteByte(byte(r))
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, u)
		}
	}
	return out.Bytes(), nil
}
