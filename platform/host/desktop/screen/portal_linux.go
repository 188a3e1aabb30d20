package screen

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"image"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"

	"hob/platform/host/desktop/session"
)

// Names of the portal (XDG Desktop Portal, org.freedesktop.portal.Screenshot).
const (
	portalName = "org.freedesktop.portal.Desktop"
	portalPath = "/org/freedesktop/portal/desktop"
	shot       = "org.freedesktop.portal.Screenshot.Screenshot"
	request    = "org.freedesktop.portal.Request"
)

// Response codes of a portal.
const (
	answered  = 0
	cancelled = 1
)

// portalScreenshot requests a screenshot from the desktop. The desktop may ask the user for permission once.
func portalScreenshot(ctx context.Context, e session.Env, part image.Rectangle) (image.Image, error) {
	if e.Bus == "" {
		return nil, fmt.Errorf("%w: no session bus, and therefore no screenshot portal", errors.ErrUnsupported)
	}
	conn, err := session.Dial(ctx, e.Bus)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // closing loses no data
	began := time.Now()
	uri, err := requestScreenshot(ctx, conn)
	if err != nil {
		return nil, err
	}
	file, err := pathFromURI(uri)
	if err != nil {
		return nil, err
	}
	img, err := decodeImageFile(file)
	if err != nil {
		return nil, err
	}
	removeScreenshot(file, began)
	return cropImage(img, part)
}

// requestScreenshot sends the request and waits for the answer, which is a signal. It subscribes to
// the signal before it sends the request.
func requestScreenshot(ctx context.Context, conn *dbus.Conn) (string, error) {
	token := "hob" + rand.Text()
	sender := strings.ReplaceAll(strings.TrimPrefix(conn.Names()[0], ":"), ".", "_")
	path := dbus.ObjectPath(portalPath + "/request/" + sender + "/" + token)
	var owner string
	var started uint32
	_ = session.Call(ctx, conn, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.StartServiceByName", []any{portalName, uint32(0)}, &started) // the next call reports a failure
	if err := session.Call(ctx, conn, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.GetNameOwner", []any{portalName}, &owner); err != nil {
		return "", fmt.Errorf("%w: no screenshot portal: %w; install xdg-desktop-portal and the backend of your desktop", errors.ErrUnsupported, err)
	}
	heard := make(chan *dbus.Signal, 8)
	conn.Signal(heard)
	if err := conn.AddMatchSignalContext(ctx, dbus.WithMatchSender(owner), dbus.WithMatchInterface(request), dbus.WithMatchMember("Response")); err != nil {
		return "", err
	}
	var handle dbus.ObjectPath
	options := map[string]dbus.Variant{"handle_token": dbus.MakeVariant(token), "interactive": dbus.MakeVariant(false), "modal": dbus.MakeVariant(false)}
	if err := session.Call(ctx, conn, owner, portalPath, shot, []any{"", options}, &handle); err != nil {
		return "", fmt.Errorf("%w: portal does not support screenshots: %w", errors.ErrUnsupported, err)
	}
	for {
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("portal does not respond: %w; check the screen for its dialog", ctx.Err())
		case s, ok := <-heard:
			switch {
			case !ok:
				return "", errors.New("session bus closed")
			case s.Sender == owner && s.Name == request+".Response" && (s.Path == path || s.Path == handle):
				return parsePortalResponse(s.Body)
			}
		}
	}
}

func parsePortalResponse(body []any) (string, error) {
	var code uint32
	var results map[string]dbus.Variant
	if err := dbus.Store(body, &code, &results); err != nil {
		return "", fmt.Errorf("decode the portal's response: %w", err)
	}
	switch code {
	case answered:
	case cancelled:
		return "", errors.New("you denied the screenshot")
	default:
		return "", errors.New("the desktop denied the screenshot: it shows its dialog only for the program in front; allow Hob once with: flatpak permission-set screenshot screenshot '' yes")
	}
	var uri string
	if v, ok := results["uri"]; !ok || v.Store(&uri) != nil {
		return "", errors.New("portal returned no picture")
	}
	return uri, nil
}

// pathFromURI returns the path of a file URL.
func pathFromURI(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || !filepath.IsAbs(u.Path) || strings.ContainsRune(u.Path, 0) {
		return "", errors.New("portal returned a picture that is not a local file")
	}
	return u.Path, nil
}

// removeScreenshot removes a picture that was created for Hob. It does not remove a file that
// existed earlier.
func removeScreenshot(file string, began time.Time) {
	info, err := os.Lstat(file)
	ext := strings.ToLower(filepath.Ext(file))
	if err == nil && info.Mode().Type() == fs.FileMode(0) && info.ModTime().After(began.Add(-time.Second)) && (ext == ".png" || ext == ".jpg" || ext == ".jpeg") {
		_ = os.Remove(file)
	}
}
