package app

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"hob/autonomy/intake/chattext"
	"hob/channels/web"
	"hob/platform/host/system"
)

func (d *App) openWeb(ctx context.Context) error {
	token, err := system.EnsureToken(d.opt.Paths.TokenFile())
	if err != nil {
		return err
	}
	d.redact.Add(token.Reveal())
	c := d.opt.Config.Web
	o := web.Options{Listen: c.Listen, Token: token.Reveal(), Backend: d.service, Peer: d.identifyPeer, Decides: chattext.MayDecide, Hooks: d.hooks, Hosts: c.Hosts, Log: d.opt.Log, Version: d.opt.Version}
	if d.opt.Peer != nil {
		o.Peer = d.opt.Peer
	}
	if c.TLSCert != "" && !d.opt.InProcess {
		cert, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
		if err != nil {
			return fmt.Errorf("[web] tls_cert and tls_key: %w; both must be PEM files of the same key pair", err)
		}
		sum := sha256.Sum256(cert.Certificate[0])
		d.pin = hex.EncodeToString(sum[:])
		o.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	}
	if c.Password != "" && !d.opt.InProcess {
		if o.Password, err = d.resolveSecretContext(ctx, c.Password); err != nil {
			return fmt.Errorf("[web] password: %w", err)
		}
		d.redact.Add(o.Password)
	}
	if d.opt.InProcess {
		o.Listen = "127.0.0.1:0" // nothing listens
	}
	d.web, err = web.New(o)
	return err
}

// Pin is the hex SHA-256 of the certificate that the API shows, "" without TLS.
func (d *App) Pin() string { return d.pin }

// RotateToken implements service.Process: it replaces the token: on disk first, so that a client whose token is refused finds the
// new one there.
func (d *App) RotateToken(context.Context) error {
	token, err := system.NewToken(d.opt.Paths.TokenFile())
	if err != nil {
		return err
	}
	d.redact.Add(token.Reveal())
	return d.web.Rotate(token.Reveal())
}

// identifyPeer identifies the process behind a connection: programs started by Hob have the user's
// account and could read the token, but must not act as the user.
func (d *App) identifyPeer(client, server string, thorough bool) web.Peer {
	c, err := system.ClientOf(client, server, system.Tree{PID: os.Getpid(), Roots: d.agents.Pids()}, thorough)
	if err != nil {
		d.opt.Log.Warn("cannot identify the peer of a connection", "err", err)
		if !errors.Is(err, errors.ErrUnsupported) && !thorough {
			return web.PeerHob // it has exited, or hides
		}
		return web.PeerUnknown
	}
	switch c {
	case system.ClientOwner, system.ClientRemote:
		return web.PeerOwner
	case system.ClientHob:
		return web.PeerHob
	case system.ClientStranger:
		return web.PeerOther
	}
	return web.PeerUnknown
}
