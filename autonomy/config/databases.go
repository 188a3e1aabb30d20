package config

import (
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hob/platform/host/system"
)

// Database is one [databases.NAME] section: a database that Hob may read.
type Database struct {
	Name     string   `toml:"-"`
	URL      string   `toml:"url"`      // absolute path of an SQLite file, or "postgres://user@host/name"
	Password string   `toml:"password"` // a reference to the password, or the password itself
	CA       string   `toml:"ca"`       // absolute path of a PEM file; "" means the system's certificates
	MaxRows  int      `toml:"max_rows"`
	MaxBytes Size     `toml:"max_bytes"` // total size of the values of one result
	Timeout  Duration `toml:"timeout"`   // time limit of one call, including the connection
}

// IsPostgres reports whether the database is a PostgreSQL server, not an SQLite file.
func (d Database) IsPostgres() bool {
	return strings.HasPrefix(d.URL, "postgres://") || strings.HasPrefix(d.URL, "postgresql://")
}

// SSLMode returns "disable", "require" or "verify-full". The default is "verify-full"; for a server
// on this machine it is "disable".
func (d Database) SSLMode() string {
	u, err := url.Parse(d.URL)
	if err != nil {
		return "verify-full"
	}
	if mode := u.Query().Get("sslmode"); mode != "" {
		return mode
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
		return "disable"
	}
	return "verify-full"
}

// newDatabase fills in the defaults of a section.
func newDatabase(name string, d Database) Database {
	d.Name = name
	if d.MaxRows == 0 {
		d.MaxRows = 200
	}
	if d.MaxBytes.Bytes == 0 {
		d.MaxBytes.Bytes = 64 << 10
	}
	if d.Timeout.Duration == 0 {
		d.Timeout.Duration = 10 * time.Second
	}
	if abs, err := system.Expand(d.URL); err == nil && !d.IsPostgres() && d.URL != "" {
		d.URL = abs
	}
	if abs, err := system.Expand(d.CA); err == nil && d.CA != "" {
		d.CA = abs
	}
	return d
}

func (k *checker) checkDatabases() {
	for _, d := range k.c.Databases {
		key := "databases." + d.Name
		k.checkName(key, d.Name)
		if d.IsPostgres() {
			k.checkPostgres(key+".url", d)
		} else {
			k.requireValid(key+".url", !strings.Contains(d.URL, "://") && filepath.IsAbs(d.URL),
				`must be the full path of an SQLite file such as "~/shop.db", or "postgres://user@host:5432/name"`)
		}
		k.requireValid(key+".ca", d.CA == "" || filepath.IsAbs(d.CA), `must be a full path such as "~/certificates/db.pem"`)
		k.requireBetween(key+".max_rows", d.MaxRows, 1, 5_000)
		k.requireValid(key+".max_bytes", d.MaxBytes.Bytes >= 1<<10 && d.MaxBytes.Bytes <= 1<<20, `must be between "1KB" and "1MB"`)
		k.requireValid(key+".timeout", d.Timeout.Duration >= time.Second && d.Timeout.Duration <= 5*time.Minute, `must be between "1s" and "5m"`)
	}
}

func (k *checker) checkPostgres(key string, d Database) {
	u, err := url.Parse(d.URL)
	if err != nil {
		k.requireValid(key, false, `must be an address such as "postgres://user@host:5432/name"`)
		return
	}
	if _, has := u.User.Password(); has { // the error must not show the value
		k.errs = append(k.errs, &Error{File: k.c.doc.file, Line: k.c.doc.lineOf(splitKey(key)), Key: key, Msg: `must not contain the password; set password = "keychain:` + d.Name + `"`})
	}
	k.requireValid(key, u.Hostname() != "" && u.User.Username() != "" && len(strings.Trim(u.Path, "/")) > 0,
		`must name a user, a host and a database: "postgres://user@host:5432/name"`)
	for name := range u.Query() {
		k.requireValid(key, name == "sslmode", "accepts only sslmode as a parameter, not %q", name)
	}
	k.requireValid(key, slices.Contains([]string{"disable", "require", "verify-full"}, d.SSLMode()), `sslmode must be "verify-full", "require" or "disable"`)
}
