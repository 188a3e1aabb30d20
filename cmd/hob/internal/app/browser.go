package app

import (
	"context"
	"net"
	"runtime"
	"slices"

	"hob/autonomy/turn"
	"hob/knowledge"
	"hob/platform/host/browser"
	"hob/platform/host/browser/apps"
	"hob/platform/store/erase"
	toolsbrowser "hob/tools/browser"
)

// openBrowser creates the browser controller. The first tool that needs the browser starts it, and
// it ends with the daemon.
func (d *App) openBrowser(context.Context) (err error) {
	b := d.opt.Config.Browser
	if !b.Enabled || d.opt.Play != nil {
		return nil
	}
	d.browser, err = browser.New(browser.Options{
		Profile: d.opt.Paths.Browser(), Network: d.network, Path: b.Path, Headless: b.Headless, Idle: b.Idle.Duration, MaxTabs: b.MaxTabs, Log: d.opt.Log,
	})
	return err
}

func (d *App) browserDeps() toolsbrowser.Deps {
	if d.browser == nil {
		return toolsbrowser.Deps{}
	}
	out := toolsbrowser.Deps{Browser: d.browser, Network: d.network, Keep: turn.PictureFolder(d.opt.Paths.Pictures()).KeepPicture, See: d.describePicture, Hosts: d.opt.Config.Web.Hosts}
	if host, _, err := net.SplitHostPort(d.opt.Config.Web.Listen); err == nil {
		out.Hosts = append(slices.Clone(out.Hosts), host)
	}
	if d.scripts != nil && runtime.GOOS != "windows" { // Linux has none but in tests
		out.Own = apps.New(d.scripts, apps.Options{Taken: d.browser.Shows})
	}
	return out
}

// forgetPages deletes the browser's page data on every deletion, because its packed files
// cannot be searched for the text. It also deletes the cookies if the browser itself is to be
// forgotten.
func (d *App) forgetPages(e *erase.Erasure) error {
	all := slices.Contains(e.Sources, knowledge.BrowserSource)
	if d.browser != nil {
		return d.browser.Forget(all)
	}
	return browser.ClearProfile(d.opt.Paths.Browser(), all)
}

// describePicture describes a picture; "" if no model can read pictures.
func (d *App) describePicture(ctx context.Context, data []byte) (string, error) {
	p, err := d.pictureDescriber()
	if p == nil || err != nil {
		return "", err
	}
	return p.Describe(ctx, data)
}
