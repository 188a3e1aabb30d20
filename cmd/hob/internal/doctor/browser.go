package doctor

import (
	"context"
	"errors"

	"hob/platform/browser"
)

// checkBrowser looks for the browser and, if Env.Starts is set, tests its start without a
// window and without a network.
func checkBrowser(ctx context.Context, e Env) []Check {
	c := e.Config.Browser
	if !c.Enabled {
		return nil
	}
	b, err := browser.New(browser.Options{Profile: e.Paths.Browser(), Network: browser.Nowhere{}, Path: c.Path, Headless: c.Headless})
	if err != nil {
		return failed("browser", err, "check [browser]")
	}
	found, err := b.Find()
	switch {
	case err != nil && c.Path != "":
		return failed("browser", err, "check [browser] path")
	case err != nil:
		e, _ := errors.AsType[*browser.Error](err)
		if e == nil {
			return failed("browser", err, "")
		}
		return ok("browser", e.Message+", so Hob has no browser (docs/browser.md)")
	case b.Unboxed():
		return warn("browser", found.Name+" would run without its sandbox, because Hob runs as root", "run Hob as a normal user, or: hob config set browser.enabled false")
	case e.Browses != nil && e.Browses(): // a second instance would show nothing more
		return ok("browser", found.Name+" runs")
	case e.Starts:
		if err := b.Try(ctx); err != nil {
			cause, remedy := split(err, "start it manually to see its messages: "+found.Path)
			return warn("browser", found.Name+" is installed but does not start: "+cause, remedy)
		}
		return ok("browser", found.Name+" starts")
	case b.Headless():
		return ok("browser", found.Name+" is installed and runs without a window")
	}
	return ok("browser", found.Name+" is installed")
}
