package abilities

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"image"
	"image/png"
	"path/filepath"
	"runtime"
	"time"

	"hob/platform/host/desktop"
	"hob/platform/host/desktop/a11y"
	"hob/platform/host/desktop/clipboard"
	"hob/platform/host/desktop/screen"
	"hob/platform/host/desktop/window"
	"hob/platform/host/ocr"
	"hob/platform/host/osrun"
	"hob/platform/host/permission"
	"hob/platform/host/speech"
	"hob/platform/host/system"
	"hob/platform/host/tray"
	"hob/platform/pim"
	"hob/platform/pim/apple"
	"hob/platform/pim/messages/chatdb"
	"hob/platform/pim/outlook"
)

// errMissing marks the lack of something that the user can provide, such as a permission or a
// program.
var errMissing = errors.New("missing")

const wait = 5 * time.Second

// mechanisms contains the names of the system services for each ability.
type mechanisms struct{ notifications, tray, keychain, clipboard, screen, windows, elements, speech, ocr, presence string }

func (o Options) mechanismsOf() mechanisms {
	switch o.System {
	case "darwin":
		return mechanisms{"osascript", "NSStatusItem", "Keychain", "NSPasteboard", "screencapture", "CGWindowList", "Accessibility", "say", "Vision", "IOKit"}
	case "windows":
		return mechanisms{"toast", "Shell_NotifyIcon", "Credential Manager", "Win32", "GDI", "Win32", "UI Automation", "SAPI", "Windows.Media.Ocr", "Win32"}
	}
	return mechanisms{"D-Bus notifications", "StatusNotifierItem", "Secret Service", "X11 or Wayland", "X11 or Wayland", "X11 or Wayland", "AT-SPI", "speech-dispatcher or espeak-ng", "tesseract", "logind or the screen saver"}
}

// Abilities lists the abilities in the order in which they are tested.
func (o Options) Abilities() []Ability {
	out := o.appAbilities()
	if o.System == runtime.GOOS {
		out = append(out, o.desktopAbilities()...)
		for _, p := range permission.List() {
			out = append(out, Ability{Name: "permission " + p.Name, Mechanism: "macOS privacy", Try: func(context.Context) (string, error) {
				if !p.Given {
					return "", fmt.Errorf("not granted to %s (%w); enable the permission in System Settings, Privacy & Security", p.For, errMissing)
				}
				return "granted", nil
			}})
		}
	}
	return out
}

// appAbilities lists the abilities of the apps on this machine. On Linux there are none: email and
// calendars come from network accounts.
func (o Options) appAbilities() []Ability {
	r := o.Scripts
	var mail pim.Mailer
	var calendar pim.Calendars
	var reminders pim.Reminders
	var notes pim.Notes
	var contacts pim.Contacts
	var by [5]string
	noMessages := Ability{Name: "iMessage", Mechanism: "chat.db", Instead: "available only on macOS"}
	switch o.System {
	case "darwin":
		mail, calendar, reminders, notes, contacts = apple.NewMail(r), apple.NewCalendar(r), apple.NewReminders(r, time.Local), apple.NewNotes(r), apple.NewContacts(r)
		by = [5]string{"Apple events (Mail)", "EventKit", "EventKit", "Apple events (Notes)", "Apple events (Contacts)"}
	case "windows":
		mail, calendar, reminders, notes, contacts = outlook.NewMail(r), outlook.NewCalendar(r), outlook.NewReminders(r, time.Local), outlook.NewNotes(r), outlook.NewContacts(r)
		by = [5]string{"Outlook (COM)", "Outlook (COM)", "Outlook (COM)", "Outlook (COM)", "Outlook (COM)"}
	default:
		const account = "no app to test: Hob uses your accounts; check them with hob doctor accounts"
		return []Ability{
			{Name: "mail", Mechanism: "IMAP and SMTP", Instead: account, Unused: true},
			{Name: "calendar", Mechanism: "CalDAV", Instead: account, Unused: true},
			{Name: "reminders", Mechanism: "CalDAV", Instead: account, Unused: true},
			{Name: "contacts", Mechanism: "CardDAV", Instead: account, Unused: true},
			{Name: "notes", Mechanism: "Hob", Instead: "Hob stores notes itself", Unused: true},
			noMessages,
		}
	}
	const asks = "permission to control the app"
	count := func(n int, err error) (string, error) {
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("answered, %d read", n), nil
	}
	out := []Ability{
		{Name: "mail", Mechanism: by[0], Asks: asks, Try: func(ctx context.Context) (string, error) {
			list, err := mail.FindMail(ctx, pim.MailQuery{Limit: 1})
			return count(len(list), err)
		}},
		{Name: "calendar", Mechanism: by[1], Asks: asks, Try: func(ctx context.Context) (string, error) {
			list, err := calendar.ListCalendars(ctx)
			return count(len(list), err)
		}},
		{Name: "reminders", Mechanism: by[2], Asks: asks, Try: func(ctx context.Context) (string, error) {
			list, err := reminders.FindReminders(ctx, false)
			return count(len(list), err)
		}},
		{Name: "notes", Mechanism: by[3], Asks: asks, Try: func(ctx context.Context) (string, error) {
			list, err := notes.FindNotes(ctx, "", 1)
			return count(len(list), err)
		}},
		{Name: "contacts", Mechanism: by[4], Asks: asks, Try: func(ctx context.Context) (string, error) {
			list, err := contacts.FindContacts(ctx, "a", 1)
			return count(len(list), err)
		}},
	}
	if o.System != "darwin" {
		return append(out, noMessages)
	}
	return append(out, Ability{Name: "iMessage", Mechanism: "chat.db", Try: o.readMessages},
		Ability{Name: "scripts", Mechanism: "osascript (JavaScript)", Try: func(ctx context.Context) (string, error) { return "answered", osrun.SelfTest(ctx, r, osrun.JavaScript) }})
}

// readMessages opens the database of Messages, which needs Full Disk Access, and reads the number of
// its newest row.
func (o Options) readMessages(ctx context.Context) (string, error) {
	db, err := chatdb.Open(ctx, filepath.Join(o.Home, "Library", "Messages", "chat.db"), "")
	if err != nil {
		return "", err
	}
	_, _, err = db.Last(ctx)
	return "opened and read", errors.Join(err, db.Close())
}

// desktopAbilities lists the abilities of the desktop session.
func (o Options) desktopAbilities() []Ability {
	m := o.mechanismsOf()
	shown := desktop.Options{Getenv: o.Getenv, Scripts: o.Scripts, Wait: wait}
	return []Ability{
		{Name: "notifications", Mechanism: m.notifications, Effect: "shows a notification and removes it", Quiet: func(ctx context.Context) (string, error) {
			_, err := desktop.New(shown).Server(ctx)
			return "the server responds; nothing was shown", err
		}, Try: func(ctx context.Context) (string, error) { return showNotification(ctx, desktop.New(shown)) }},
		{Name: "tray", Mechanism: m.tray, Try: func(ctx context.Context) (string, error) {
			p, err := tray.Shown(ctx, o.Getenv, o.Pid)
			switch {
			case err != nil:
				return "", err
			case !p.Host:
				return "", fmt.Errorf("no panel shows tray icons (%w); on GNOME install the extension AppIndicator", errMissing)
			case o.Pid == 0:
				return "a panel shows tray icons; Hob is not running", nil
			}
			return fmt.Sprintf("icon shown: %t, menu responds: %t", p.Item, p.Menu), nil
		}},
		{
			Name: "keychain", Mechanism: m.keychain, Effect: "stores a random secret and deletes it;", Asks: "the keychain may ask for its password",
			Quiet: func(ctx context.Context) (string, error) {
				return "responds; nothing was stored", o.Secrets.CheckKeychain(ctx)
			},
			Try: o.storeSecret,
		},
		{Name: "presence", Mechanism: m.presence, Try: func(ctx context.Context) (string, error) {
			_, err := desktop.DetectPresence(ctx, shown)
			return "responds", err
		}},
		{Name: "clipboard", Mechanism: m.clipboard, Try: func(ctx context.Context) (string, error) {
			c := clipboard.New(clipboard.Options{Getenv: o.Getenv, Scripts: o.Scripts, Wait: wait})
			defer c.Close()
			_, err := c.Read(ctx)
			return "read and discarded", err
		}},
		{Name: "screenshot", Mechanism: m.screen, Try: func(ctx context.Context) (string, error) {
			_, err := screen.New(screen.Options{Getenv: o.Getenv, Wait: wait}).Capture(ctx, image.Rect(0, 0, 1, 1))
			return "one pixel, discarded", err
		}},
		{Name: "windows", Mechanism: m.windows, Try: func(ctx context.Context) (string, error) {
			_, err := window.New(window.Options{Getenv: o.Getenv, Wait: wait}).List(ctx)
			return "listed and discarded", err
		}},
		{Name: "window contents", Mechanism: m.elements, Try: func(ctx context.Context) (string, error) {
			return "ready", a11y.New(a11y.Options{Getenv: o.Getenv, Wait: wait}).Ready(ctx)
		}},
		{Name: "speech", Mechanism: m.speech, Effect: "speaks one word aloud", Try: func(ctx context.Context) (string, error) {
			return "spoken", speech.New(speech.Options{Getenv: o.Getenv, Scripts: o.Scripts}).Say(ctx, "test", "en")
		}},
		{Name: "text in pictures", Mechanism: m.ocr, Try: func(ctx context.Context) (string, error) {
			var b bytes.Buffer
			if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 64, 32))); err != nil {
				return "", err
			}
			_, err := ocr.New(ocr.Options{Getenv: o.Getenv, Scripts: o.Scripts}).Read(ctx, b.Bytes())
			return "a blank test image was read", err
		}},
	}
}

func showNotification(ctx context.Context, n *desktop.NotificationClient) (string, error) {
	const id = "hob-selftest"
	err := n.Notify(ctx, desktop.Notification{ID: id, Title: "Hob", Body: "Test from hob selftest", Transient: true})
	if err != nil {
		return "", err
	}
	if err := n.Withdraw(ctx, id); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return "", err
	}
	return "shown and removed", nil
}

// storeSecret stores, reads and deletes a random secret under a random name.
func (o Options) storeSecret(ctx context.Context) (_ string, err error) {
	name, value := "hob-selftest-"+rand.Text()[:8], rand.Text()
	where, err := o.Secrets.Keep(ctx, name, system.Secret(value), false)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, o.Secrets.Forget(context.WithoutCancel(ctx), name)) }()
	got, err := o.Secrets.Reveal(ctx, "keychain:"+name)
	switch {
	case err != nil:
		return "", err
	case got != value:
		return "", errors.New("the secret that was read differs from the stored one")
	case where == system.InFile:
		return "no keychain: stored, read and deleted in the encrypted file", nil
	}
	return "stored, read and deleted", nil
}
