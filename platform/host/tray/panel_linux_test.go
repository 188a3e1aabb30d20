package tray

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"hob/platform/host/desktop/desktoptest"
	"hob/platform/host/tray/traytest"
)

const panelConfig = `<?xml version="1.0" encoding="UTF-8"?>
<channel name="xfce4-panel" version="1.0">
  <property name="configver" type="int" value="2"/>
  <property name="panels" type="array"><value type="int" value="1"/>
    <property name="dark-mode" type="bool" value="%t"/>
    <property name="panel-1" type="empty">
      <property name="position" type="string" value="p=6;x=0;y=0"/>
      <property name="length" type="uint" value="100"/><property name="position-locked" type="bool" value="true"/>
      <property name="size" type="uint" value="32"/><property name="icon-size" type="uint" value="22"/>
      <property name="plugin-ids" type="array"><value type="int" value="1"/><value type="int" value="2"/><value type="int" value="3"/></property>
    </property>
  </property>
  <property name="plugins" type="empty">
    <property name="plugin-1" type="string" value="separator"><property name="expand" type="bool" value="true"/><property name="style" type="uint" value="0"/></property>
    <property name="plugin-2" type="string" value="systray"><property name="square-icons" type="bool" value="true"/><property name="hide-new-items" type="bool" value="false"/></property>
    <property name="plugin-3" type="string" value="clock"/>
  </property>
</channel>
`

// desk is a real desktop: a screen, a bus and Xfce's panel, with the panel plugin that registers
// and shows icons.
type desk struct {
	t     *testing.T
	bus   *desktoptest.Bus
	conn  *dbus.Conn
	panel *exec.Cmd
}

func newDesk(t *testing.T, dark bool) *desk {
	t.Helper()
	for _, p := range []string{"xfce4-panel", "xdotool", "import"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip(p + " is not installed")
		}
	}
	home := t.TempDir()
	for k, v := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": home + "/.config", "XDG_CACHE_HOME": home + "/.cache", "XDG_DATA_HOME": home + "/.data", "NO_AT_BRIDGE": "1",
		"XDG_RUNTIME_DIR": home, "GTK_THEME": map[bool]string{true: "Adwaita:dark", false: "Adwaita"}[dark], "GIO_USE_VFS": "local", "LC_ALL": "C.UTF-8", "TZ": "UTC",
	} {
		t.Setenv(k, v)
	}
	conf := filepath.Join(home, ".config/xfce4/xfconf/xfce-perchannel-xml")
	if err := os.MkdirAll(conf, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(conf, "xfce4-panel.xml"), fmt.Appendf(nil, panelConfig, dark), 0o600); err != nil {
		t.Fatal(err)
	}
	display := desktoptest.Display(t)
	t.Setenv("DISPLAY", display)
	d := &desk{t: t, bus: desktoptest.NewBus(t)}
	const settings = "org.xfce.Xfconf.service"
	if err := os.Symlink("/usr/share/dbus-1/services/"+settings, filepath.Join(d.bus.Services, settings)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", d.bus.Address)
	d.conn = d.bus.Conn(t)
	if err := d.conn.BusObject().Call("org.freedesktop.DBus.ReloadConfig", 0).Err; err != nil {
		t.Fatal(err)
	}
	d.startPanel()
	return d
}

// startPanel starts the panel.
func (d *desk) startPanel() {
	d.t.Helper()
	d.panel = exec.CommandContext(d.t.Context(), "xfce4-panel", "--disable-wm-check")
	if err := d.panel.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(d.stopPanel)
	traytest.Eventually(d.t, "the panel takes icons", func() bool { return d.nameOwner(traytest.Name) != "" })
}

func (d *desk) stopPanel() {
	_ = d.panel.Process.Kill()
	_ = d.panel.Wait()
}

func (d *desk) nameOwner(name string) string {
	var at string
	_ = d.conn.BusObject().Call("org.freedesktop.DBus.GetNameOwner", 0, name).Store(&at)
	return at
}

// captureScreen returns a picture of the screen.
func (d *desk) captureScreen() *image.NRGBA {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 60*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "import", "-silent", "-window", "root", "-depth", "8", "rgba:-").Output()
	if err != nil || len(out) != 800*600*4 {
		d.t.Fatalf("screen capture has %d bytes: %v", len(out), err)
	}
	return &image.NRGBA{Pix: out, Stride: 4 * 800, Rect: image.Rect(0, 0, 800, 600)}
}

// findColor returns the center of all pixels of a color in the panel.
func (d *desk) findColor(c color.NRGBA) (x, y int, ok bool) {
	m := d.captureScreen()
	n := 0
	for py := range 40 {
		for px := range m.Bounds().Dx() {
			if p := m.NRGBAAt(px, py); isNear(p.R, c.R) && isNear(p.G, c.G) && isNear(p.B, c.B) {
				x, y, n = x+px, y+py, n+1
			}
		}
	}
	if n < 20 {
		return 0, 0, false
	}
	return x / n, y / n, true
}

func isNear(a, b uint8) bool { return max(a, b)-min(a, b) <= 6 }

// saveShot saves a screenshot for the documentation in the folder that HOB_TRAY_PICTURES names.
func (d *desk) saveShot(name string, crop image.Rectangle) {
	d.t.Helper()
	dir := os.Getenv("HOB_TRAY_PICTURES")
	if dir == "" {
		return
	}
	f, err := os.Create(filepath.Join(dir, name+".png"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(f, d.captureScreen().SubImage(crop)); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) runXdotool(args ...string) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 60*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "xdotool", args...).CombinedOutput(); err != nil {
		d.t.Fatalf("xdotool %v: %v %s", args, err, out)
	}
}

// shownMenu returns a menu with the items that Menu builds.
func shownMenu(s State, line string, asks bool) View {
	v := View{State: s, Tooltip: "Hob: " + line, Items: []Item{{Title: "Hob: " + line}, {Separator: true}}}
	if asks {
		v.Items = append(v.Items, questionItems([]Question{{
			ID: "a1", Session: "web", Sentence: "Send an email to ann@example.org: Friday",
			Explanation: "It sends something that cannot be recalled. This needs your approval because it reaches a person or a service.",
			Details:     []string{`exactly: send_email {"to":["ann@example.org"],"subject":"Friday","text":"Friday at 14:00 suits me."}`},
		}}, true)...)
		m := &Menu{o: MenuOptions{Decides: true}, preview: &templatePreview{name: "housekeeper", at: time.Now(), lines: []string{
			"Keeps the household running.", "changes the personality in SOUL.md (9 lines)", "would create schedule: every Saturday at 10:00: check the supplies",
		}}}
		v.Items = append(append(v.Items, m.previewItems()...), Item{Separator: true})
	}
	v.Items = append(
		v.Items, Item{Key: "ask", Title: "Ask…"}, Item{Key: "dashboard", Title: "Dashboard"},
		Item{Title: "Recent notifications", Items: noticeItems([]Notice{{ID: "1", Session: "web", Text: "Reminder: stretch"}, {ID: "2", Session: "web", Text: "invoice.pdf is new in Downloads"}})},
	)
	v.Items = append(append(v.Items, templateItems([]Template{{Name: "housekeeper"}, {Name: "personal-assistant", Used: true}})...), Item{Separator: true})
	v.Items = append(v.Items, pauseItems(true, s == Paused, "", false, "")...)
	v.Items = append(v.Items, Item{Separator: true}, Item{Key: "quit", Title: "Quit"})
	return v
}

// TestPanel_ShowsEachState checks that a real panel shows each state, opens the menu and reports clicks, also
// after the panel was killed and restarted.
func TestPanel_ShowsEachState(t *testing.T) {
	d := newDesk(t, os.Getenv("HOB_TRAY_DARK") != "")
	tr, got, _ := startTray(t, d.bus)
	top := image.Rect(400, 0, 800, 40)
	for _, s := range States() {
		tr.Show(shownMenu(s, string(s), s == NeedsYou))
		c := iconLayers(s)[0].c
		traytest.Eventually(t, "the panel shows "+string(s), func() bool { _, _, ok := d.findColor(c); return ok })
		d.saveShot("tray-"+strings.ReplaceAll(string(s), " ", "-"), top)
	}
	tr.Show(shownMenu(NeedsYou, "one question for you", true))
	amber := iconLayers(NeedsYou)[0].c
	traytest.Eventually(t, "the icon is there", func() (ok bool) { _, _, ok = d.findColor(amber); return ok })
	before := d.captureScreen()
	tries := 0
	traytest.Eventually(t, "a click arrives", func() bool { // a slow panel misses keys and moves its icons
		if tries++; tries%3 == 0 { // on a busy machine the menu sometimes never accepts keys
			d.stopPanel()
			traytest.Eventually(t, "the panel is gone", func() bool { return d.nameOwner(traytest.Name) == "" })
			d.startPanel()
			traytest.Eventually(t, "the icon is there again", func() (ok bool) { _, _, ok = d.findColor(amber); return ok })
		}
		d.runXdotool("key", "Escape", "Escape")
		waitUntil(func() bool { return !imagesDiffer(before, d.captureScreen()) })
		x, y, ok := d.findColor(amber)
		if !ok {
			return false
		}
		d.runXdotool("mousemove", strconv.Itoa(x), strconv.Itoa(y), "click", "1")
		if !waitUntil(func() bool { return imagesDiffer(before, d.captureScreen()) }) {
			return false
		}
		menu := d.captureScreen()
		d.saveShot("tray-menu", image.Rect(0, 0, 800, 420))
		d.runXdotool("key", "--delay", "200", "Down", "Right") // selects the question, the first enabled line
		if !waitUntil(func() bool { return imagesDiffer(menu, d.captureScreen()) }) {
			return false
		}
		d.saveShot("tray-question", image.Rect(0, 0, 800, 420))
		d.runXdotool("key", "Return") // selects Approve, the first enabled line of the question
		return waitUntil(func() bool { return got.joinKeys() != "" })
	})
	if all := got.joinKeys(); !strings.HasPrefix(all, "yes a1") {
		t.Errorf("clicks: %s", all)
	}

	if p, err := Shown(t.Context(), os.Getenv, os.Getpid()); err != nil || !p.Host || !p.Item || !p.Menu {
		t.Errorf("the panel shows %+v, %v", p, err)
	}
	d.stopPanel()
	traytest.Eventually(t, "the panel is gone", func() bool { return d.nameOwner(traytest.Name) == "" })
	if p, err := Shown(t.Context(), os.Getenv, os.Getpid()); err != nil || p.Host {
		t.Errorf("Shown without a panel = %+v, %v", p, err)
	}
	tr.Show(shownMenu(Paused, "paused", false))
	d.startPanel()
	traytest.Eventually(t, "a new panel shows the icon", func() bool { _, _, ok := d.findColor(iconLayers(Paused)[0].c); return ok })
	traytest.IconAt(d.conn, itemBusName()).Choose(t, "Resume")
	traytest.Eventually(t, "a click arrives", func() bool { return strings.HasSuffix(got.joinKeys(), ",resume") })
}

// waitUntil waits until is returns true, for at most 5 s.
func waitUntil(is func() bool) bool {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if is() {
			return true
		}
	}
	return false
}

func imagesDiffer(a, b *image.NRGBA) bool {
	n := 0
	for i := 40 * a.Stride; i < len(a.Pix); i++ {
		if a.Pix[i] != b.Pix[i] {
			n++
		}
	}
	return n > 20_000
}
