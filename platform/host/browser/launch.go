package browser

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/host/system"
)

// browserFlags returns the command-line flags of the browser, except those for its pipe.
func browserFlags(profile, proxy string, headless, unboxed bool, goos string) []string {
	out := []string{
		"--user-data-dir=" + profile, "--no-first-run", "--no-default-browser-check", "--hide-crash-restore-bubble",
		// All traffic uses the proxy, even to this machine, and only the proxy resolves names
		// (chromium, net/docs/proxy.md, "Bypass rules" and "DNS leaks").
		"--proxy-server=http://" + proxy, "--proxy-bypass-list=<-loopback>", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
		"--disable-quic", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--webrtc-ip-handling-policy=disable_non_proxied_udp",
		// Disable background activity.
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-breakpad", "--disable-domain-reliability",
		"--disable-default-apps", "--no-pings", "--metrics-recording-only", "--disable-client-side-phishing-detection", "--no-service-autorun",
		// Extensions could set another proxy.
		"--disable-extensions",
		"--disable-features=" + strings.Join([]string{
			"MediaRouter", "DialMediaRouteProvider", "CastMediaRouteProvider", "GlobalMediaControls", "OptimizationHints", "AutofillServerCommunication",
			"Translate", "WebTransport", "DirectSockets", "CertificateTransparencyComponentUpdater", "HttpsUpgrades", "InterestFeedContentSuggestions",
		}, ","),
	}
	if headless {
		out = append(out, "--headless=new", "--window-size=1280,900", "--hide-scrollbars", "--mute-audio", "--force-color-profile=srgb")
	}
	if goos == "linux" {
		out = append(out, "--password-store=basic", "--disable-dev-shm-usage")
	}
	if unboxed {
		out = append(out, "--no-sandbox")
	}
	return append(out, "about:blank")
}

// browserEnviron returns the browser's environment: folders, user, language and display, but no
// key, token or proxy.
//
// Pages must not start programs. The environment therefore omits the session bus, whose portal
// could start programs, and nothing, a folder of programs that do nothing, comes first in PATH
// unless it is "". Files that the browser would write to the user's folders, such as crash reports
// with parts of pages, are written to the parent of that folder.
func browserEnviron(all []string, nothing string) []string {
	out := []string{system.Marker + "=browser", "DBUS_SESSION_BUS_ADDRESS=disabled:"}
	own := []string{"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"}
	if nothing == "" {
		own = nil
	}
	for _, name := range own {
		out = append(out, name+"="+filepath.Join(filepath.Dir(nothing), "home", strings.ToLower(name)))
	}
	for _, v := range all {
		name, _, _ := strings.Cut(v, "=")
		if slices.Contains(own, name) {
			continue
		}
		if name == "PATH" && nothing != "" {
			v = name + "=" + nothing + string(os.PathListSeparator) + strings.TrimPrefix(v, name+"=")
		}
		if isEnvAllowed(strings.ToUpper(name)) {
			out = append(out, v)
		}
	}
	return out
}

func isEnvAllowed(name string) bool {
	if slices.Contains([]string{
		"HOME", "PATH", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERNAME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)",
		"PROGRAMW6432", "HOMEDRIVE", "HOMEPATH", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "__CF_USER_TEXT_ENCODING",
	}, name) {
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_")
}

// lacksDisplay reports whether there is no display for a window.
func lacksDisplay(goos string, getenv func(string) string) bool {
	return goos != "windows" && goos != "darwin" && getenv("DISPLAY") == "" && getenv("WAYLAND_DISPLAY") == ""
}

// process is a running browser.
type process struct {
	conn     *cdpConn
	tree     *osrun.Tree
	proxy    *proxy
	headless bool
	work     sync.WaitGroup

	out io.Closer // output of the browser

	mu     sync.Mutex
	said   []byte // end of stderr
	ending bool
}

// startBrowser starts a browser and waits until it responds.
func startBrowser(ctx context.Context, found Found, args []string, nothing string, events func(cdpEvent)) (*process, error) {
	p := &process{}
	cr, cw, err := osrun.Pipe()
	if err != nil {
		return nil, err
	}
	ar, aw, err := osrun.Pipe()
	if err != nil {
		return nil, errors.Join(err, cr.Close(), cw.Close())
	}
	sr, sw, err := osrun.Pipe()
	if err != nil {
		return nil, errors.Join(err, cr.Close(), cw.Close(), ar.Close(), aw.Close())
	}
	cmd := exec.Command(found.Path, args...) //nolint:noctx // the browser outlives the call that needed it first
	passPipes(cmd, cr, aw)
	cmd.Env, cmd.Stdout, cmd.Stderr = browserEnviron(os.Environ(), nothing), sw, sw
	p.tree, err = osrun.Start(cmd)
	_, _, _ = cr.Close(), aw.Close(), sw.Close() // the child process has its own copies
	if err != nil {
		return nil, errors.Join(&Error{Kind: NotStarted, Message: found.Name + " did not start: " + err.Error(), Err: err}, cw.Close(), ar.Close(), sr.Close())
	}
	p.out = sr
	p.work.Go(func() { p.readStderr(sr) })
	p.conn = newConn(ar, cw, events)
	ctx, cancel := context.WithTimeout(ctx, startFor)
	defer cancel()
	if err := p.conn.callCommand(ctx, "", "Browser.getVersion", nil, nil); err != nil {
		p.stopProcess(0)
		return nil, p.startError(found, err)
	}
	return p, nil
}

// startFor is the time limit for starting a browser. It is long because a machine may be busy.
const startFor = 45 * time.Second

func (p *process) startError(found Found, err error) error {
	e := &Error{Kind: NotStarted, Message: found.Name + " did not start", Err: err}
	if said := p.stderrTail(); said != "" {
		e.Message += ": " + said
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e.Message = found.Name + " did not answer in time"
	case errors.Is(err, context.Canceled):
		return err
	case strings.HasPrefix(found.Path, "/snap/"):
		e.Remedy = "a browser installed as a snap cannot use Hob's folder; install another package and set [browser] path"
	default:
		e.Remedy = "close any other browser that uses Hob's profile"
	}
	return e
}

// readStderr keeps the end of the browser's stderr for error messages.
func (p *process) readStderr(r io.ReadCloser) {
	b := make([]byte, 4096)
	for {
		n, err := r.Read(b)
		p.mu.Lock()
		p.said = append(p.said, b[:n]...)
		p.said = p.said[max(0, len(p.said)-2000):]
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// runBackground runs f in the background. stopProcess waits for f.
func (p *process) runBackground(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ending {
		p.work.Go(f)
	}
}

func (p *process) stderrTail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return sanitizeLine(string(p.said), 300)
}

// stopProcess asks the browser to close, so that it saves its cookies. It kills the browser after
// patience.
func (p *process) stopProcess(patience time.Duration) {
	if patience > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		_ = p.conn.callCommand(ctx, "", "Browser.close", nil, nil) // if this fails, the browser is killed below
		select {
		case <-p.tree.Done():
		case <-ctx.Done():
		}
		cancel()
	}
	p.tree.Kill()
	<-p.tree.Done()
	p.conn.close()
	p.mu.Lock()
	p.ending = true
	p.mu.Unlock()
	_ = p.out.Close() // a remaining child process may keep the other end open
	p.work.Wait()
	if p.proxy != nil {
		p.proxy.close()
	}
}
