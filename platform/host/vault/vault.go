// Package vault stores secrets in one encrypted file, for sessions without a keychain. The file has
// the age format (https://age-encryption.org/v1) and is encrypted with the key in a separate
// private file or with the passphrase in HOB_SECRETS_PASSPHRASE. Each write replaces the whole
// file; only one process writes at a time. A damaged file is moved aside and never overwritten. A
// file encrypted for another key is not changed. The package does not depend on keychains; package
// system calls it.
package vault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"filippo.io/age"

	"hob/platform/host/system"
)

// PassphraseEnv is the environment variable with the passphrase.
const PassphraseEnv = "HOB_SECRETS_PASSPHRASE"

// Errors of the secrets file.
var (
	// ErrOtherKey means that the file is intact but encrypted for a missing key.
	ErrOtherKey = errors.New("file is encrypted for another key")
	// ErrDamaged means that no key can decrypt the file.
	ErrDamaged = errors.New("file is damaged")
)

const (
	maxFile = 1 << 20 // bytes
	version = 1
)

// Options of New; Path and Identity are required.
type Options struct {
	Path     string // the encrypted file
	Identity string // the key file, created when it is first needed
	// Getenv replaces os.Getenv; optional.
	Getenv func(string) string
	// Work is the work factor of the passphrase, as an exponent of two (default: the default of
	// age, about 1 s on a common machine).
	Work int
}

// Vault stores secrets in a file. It implements system.SecretStore and may be used concurrently.
type Vault struct {
	opt Options

	mu     sync.Mutex
	stamp  fileStamp         // version of the file at the last read
	opened map[string]string // decrypted content of the file
}

// fileStamp identifies a version of a file.
type fileStamp struct {
	size int64
	at   time.Time
}

var _ system.SecretStore = (*Vault)(nil)

// New returns a Vault. It touches no file.
func New(opt Options) *Vault {
	if opt.Getenv == nil {
		opt.Getenv = os.Getenv
	}
	return &Vault{opt: opt}
}

// SecretsFor returns the Secrets of a home: the keychain, with the vault as fallback.
func SecretsFor(p system.Paths) system.Secrets {
	return system.Secrets{Fallback: New(Options{Path: p.SecretsFile(), Identity: p.Identity()}), Index: p.SecretNames()}
}

// fileContent is the JSON that the file encrypts.
type fileContent struct {
	Version int               `json:"version"`
	Secrets map[string]string `json:"secrets"`
}

// Get implements system.SecretStore.
func (v *Vault) Get(_ context.Context, name string) (string, error) {
	all, err := v.readSecrets()
	if err != nil {
		return "", err
	}
	s, ok := all[name]
	if !ok {
		return "", fmt.Errorf("%q: %w", name, system.ErrNoSecret)
	}
	return s, nil
}

// Names implements system.SecretStore.
func (v *Vault) Names(context.Context) ([]string, error) {
	all, err := v.readSecrets()
	return slices.Sorted(maps.Keys(all)), err
}

// Set implements system.SecretStore.
func (v *Vault) Set(ctx context.Context, name, value string) error {
	return v.updateSecrets(ctx, func(all map[string]string) error {
		all[name] = value
		return nil
	})
}

// Remove implements system.SecretStore.
func (v *Vault) Remove(ctx context.Context, name string) error {
	if _, err := os.Stat(v.opt.Path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%q: %w", name, system.ErrNoSecret)
	}
	return v.updateSecrets(ctx, func(all map[string]string) error {
		if _, ok := all[name]; !ok {
			return fmt.Errorf("%q: %w", name, system.ErrNoSecret)
		}
		delete(all, name)
		return nil
	})
}

// updateSecrets reads, changes and writes the file while it holds a lock against other processes.
func (v *Vault) updateSecrets(ctx context.Context, fn func(map[string]string) error) (err error) {
	lock, err := system.Acquire(ctx, v.opt.Path+".lock", system.RoleCLI)
	if err != nil {
		return fmt.Errorf("lock the secrets file: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	all, err := v.readSecrets()
	if errors.Is(err, ErrDamaged) {
		all, err = nil, v.setAside(err)
	}
	if err != nil {
		return err
	}
	next := map[string]string{}
	maps.Copy(next, all)
	if err := fn(next); err != nil {
		return err
	}
	return v.writeSecrets(next)
}

// setAside renames a damaged file, so that the next write can create a new one.
func (v *Vault) setAside(cause error) error {
	to := fmt.Sprintf("%s.damaged-%s", v.opt.Path, time.Now().UTC().Format("20060102T150405.000"))
	if err := system.Rename(v.opt.Path, to); err != nil {
		return fmt.Errorf("%w (renaming it failed: %w)", cause, err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.opened = nil
	return nil
}

// readSecrets returns the secrets in the file, or none if the file does not exist.
func (v *Vault) readSecrets() (map[string]string, error) {
	fi, err := os.Stat(v.opt.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the secrets file: %w; make it readable", err)
	}
	now := fileStamp{fi.Size(), fi.ModTime()}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.opened != nil && v.stamp == now {
		return v.opened, nil
	}
	all, err := v.decryptFile(fi)
	if err != nil {
		return nil, err
	}
	v.opened, v.stamp = all, now
	return all, nil
}

func (v *Vault) decryptFile(fi fs.FileInfo) (map[string]string, error) {
	damaged := func(why any) error {
		return fmt.Errorf("the secrets file %s: %w (%v); restore it from a copy, or run hob secret set, which renames it and creates a new file", v.opt.Path, ErrDamaged, why)
	}
	switch {
	case !fi.Mode().IsRegular():
		return nil, fmt.Errorf("the secrets file %s is not a regular file; move it elsewhere", v.opt.Path)
	case fi.Size() > maxFile:
		return nil, damaged("file is larger than 1 MB")
	case system.OthersMayRead(fi):
		return nil, fmt.Errorf("the secrets file %s can be read by others (mode %04o); run: chmod 600 %s", v.opt.Path, fi.Mode().Perm(), system.QuoteForShell(v.opt.Path))
	}
	raw, err := os.ReadFile(v.opt.Path)
	if err != nil {
		return nil, fmt.Errorf("read the secrets file: %w; make it readable", err)
	}
	ids, err := v.fileIdentities()
	if err != nil {
		return nil, err
	}
	r, err := age.Decrypt(bytes.NewReader(raw), ids...)
	if _, other := errors.AsType[*age.NoIdentityMatchError](err); other {
		return nil, fmt.Errorf("the secrets file %s: %w; restore the key %s, or set %s to its passphrase", v.opt.Path, ErrOtherKey, v.opt.Identity, PassphraseEnv)
	}
	if err != nil {
		return nil, damaged(err)
	}
	text, err := io.ReadAll(io.LimitReader(r, maxFile))
	if err != nil {
		return nil, damaged(err)
	}
	var c fileContent
	if err := json.Unmarshal(text, &c); err != nil { // the error would contain a value
		return nil, damaged("content is not a list of secrets")
	}
	if c.Version != version {
		return nil, fmt.Errorf("the secrets file %s has version %d, this version of Hob supports version %d; update Hob", v.opt.Path, c.Version, version)
	}
	if c.Secrets == nil {
		c.Secrets = map[string]string{}
	}
	return c.Secrets, nil
}

// writeSecrets encrypts and replaces the file.
func (v *Vault) writeSecrets(all map[string]string) error {
	to, err := v.fileRecipient()
	if err != nil {
		return err
	}
	text, err := json.Marshal(fileContent{Version: version, Secrets: all})
	if err != nil {
		return errors.New("cannot encode the secrets") // the error could quote a secret
	}
	var out bytes.Buffer
	w, err := age.Encrypt(&out, to)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return fmt.Errorf("encrypt the secrets: %w", err)
	}
	if out.Len() > maxFile {
		return errors.New("the secrets file would be larger than 1 MB; remove secrets that you no longer need (see: hob secret list)")
	}
	v.mu.Lock()
	v.opened = nil
	v.mu.Unlock()
	return system.WriteFile(v.opt.Path, out.Bytes())
}

// fileRecipient returns the key or passphrase for which a new file is encrypted.
func (v *Vault) fileRecipient() (age.Recipient, error) {
	if pass := v.opt.Getenv(PassphraseEnv); pass != "" {
		r, err := age.NewScryptRecipient(pass)
		if err == nil && v.opt.Work > 0 {
			r.SetWorkFactor(v.opt.Work)
		}
		return r, err
	}
	id, err := v.readIdentity()
	if errors.Is(err, fs.ErrNotExist) {
		if _, serr := os.Stat(v.opt.Path); serr == nil { // a new key could not decrypt the existing file
			return nil, fmt.Errorf("the key %s of the secrets file is missing; restore it, or set %s", v.opt.Identity, PassphraseEnv)
		}
		id, err = v.makeIdentity()
	}
	if err != nil {
		return nil, err
	}
	return id.Recipient(), nil
}

// fileIdentities returns the keys that may decrypt the file.
func (v *Vault) fileIdentities() (ids []age.Identity, err error) {
	if pass := v.opt.Getenv(PassphraseEnv); pass != "" {
		id, err := age.NewScryptIdentity(pass)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", PassphraseEnv, err)
		}
		ids = append(ids, id)
	}
	id, err := v.readIdentity()
	switch {
	case err == nil:
		ids = append(ids, id)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case len(ids) == 0:
		return nil, fmt.Errorf("the secrets file %s: %w: %s is missing; restore it, or set %s to its passphrase", v.opt.Path, ErrOtherKey, v.opt.Identity, PassphraseEnv)
	}
	return ids, nil
}

func (v *Vault) readIdentity() (*age.X25519Identity, error) {
	fi, err := os.Stat(v.opt.Identity)
	if err != nil {
		return nil, fmt.Errorf("read the key of the secrets file: %w", err)
	}
	if system.OthersMayRead(fi) {
		return nil, fmt.Errorf("the key %s of the secrets file can be read by others (mode %04o); run: chmod 600 %s", v.opt.Identity, fi.Mode().Perm(), system.QuoteForShell(v.opt.Identity))
	}
	b, err := os.ReadFile(v.opt.Identity)
	if err != nil {
		return nil, fmt.Errorf("read the key of the secrets file: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, err := age.ParseX25519Identity(line)
		if err != nil { // the error would contain the key
			break
		}
		return id, nil
	}
	return nil, fmt.Errorf("the file %s does not contain a key; restore it from a copy", v.opt.Identity)
}

func (v *Vault) makeIdentity() (*age.X25519Identity, error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	text := "# The key of Hob's secrets. Keep a copy where others cannot read it.\n" + id.String() + "\n"
	return id, system.WriteFile(v.opt.Identity, []byte(text))
}
