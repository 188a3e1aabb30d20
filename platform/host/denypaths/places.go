package denypaths

// Reasons that are shown to users.
const (
	keys     = "it contains keys or passwords"
	starts   = "programs in it start automatically"
	shell    = "a shell or a tool runs it at startup"
	browser  = "it is a browser profile"
	words    = "it contains private messages or passwords"
	machine  = "it contains passwords or boot files of this machine"
	either   = "it contains keys or starts programs"
	own      = "it belongs to Hob"
	process  = "it is internal data of a process"
	isDevice = "it is a device"
)

// placeGroup is a list of protected paths with the same reason.
type placeGroup struct {
	why    string
	places []string
}

// atHome returns the protected paths below the user's home. Each place includes everything below
// it.
func atHome() []placeGroup {
	return []placeGroup{
		{keys, []string{
			".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh", ".config/glab-cli", ".config/op", ".config/hub",
			".netrc", "_netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".pip", ".config/pip", ".git-credentials", ".config/git/credentials", ".password-store",
			".pgpass", ".my.cnf", ".mylogin.cnf", ".vault-token", ".cargo/credentials", ".cargo/credentials.toml", ".terraform.d", ".terraformrc",
			".local/share/keyrings", ".local/share/kwalletd", ".config/containers/auth.json", ".local/share/containers", ".config/sops", ".config/age",
			".config/doctl", ".config/hcloud", ".config/flyctl", ".fly", ".config/heroku", ".local/share/heroku", ".config/rclone", ".config/restic", ".boto", ".s3cfg", ".oci",
			".aliyun", ".bluemix", ".config/configstore", ".config/stripe", ".config/netlify", ".vercel", ".config/Bitwarden", ".config/Bitwarden CLI",
			".config/1Password", ".config/keepassxc", ".config/KeePass", ".ICEauthority", ".Xauthority", ".rhosts", ".shosts", ".m2/settings.xml",
			".m2/settings-security.xml", ".gradle/gradle.properties", ".gem/credentials", ".config/gem", ".composer/auth.json", ".config/composer/auth.json",
			".nuget/NuGet.Config", ".config/NuGet", ".config/ngrok", ".ngrok2", ".cloudflared", ".claude", ".claude.json", ".codex", ".gemini", ".config/github-copilot",
			".config/wireguard", ".config/openvpn", ".bitcoin", ".ethereum", ".electrum", ".monero",
			"Library/Keychains", "Library/Cookies", "Library/Accounts", "Library/Group Containers/2BUA8C4S2C.com.1password", "Library/Application Support/1Password",
			"Library/Application Support/com.apple.TCC", "AppData/Roaming/Microsoft/Credentials", "AppData/Local/Microsoft/Credentials",
			"AppData/Roaming/Microsoft/Protect", "AppData/Roaming/Microsoft/Crypto", "AppData/Roaming/Microsoft/Vault", "AppData/Local/Microsoft/Vault",
			"AppData/Roaming/gcloud", "AppData/Roaming/GitHub CLI", "NTUSER.DAT", "AppData/Roaming/Microsoft/SystemCertificates",
		}},
		{starts, []string{
			".config/autostart", ".config/autostart-scripts", ".config/systemd", ".local/share/systemd", ".config/environment.d", ".config/plasma-workspace",
			".local/share/dbus-1", ".local/share/applications", ".local/bin", "bin", ".config/upstart", ".config/openbox", ".config/i3", ".config/sway", ".config/hypr",
			".config/awesome", ".config/lxsession", ".config/direnv", ".config/cron",
			"Library/LaunchAgents", "Library/LaunchDaemons", "Library/StartupItems", "Library/Scripts", "Library/Services", "Library/Application Scripts",
			"AppData/Roaming/Microsoft/Windows/Start Menu/Programs/Startup",
		}},
		{shell, []string{
			".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
			".zlogout", ".zsh", ".oh-my-zsh", ".config/zsh", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".config/fish", ".config/nushell", ".config/starship.toml",
			".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".xserverrc", ".pam_environment", ".inputrc", ".gitconfig", ".config/git",
			".vimrc", ".vim", ".gvimrc", ".exrc", ".nanorc", ".config/nvim", ".emacs", ".emacs.d", ".config/emacs", ".tmux.conf", ".config/tmux", ".screenrc", ".gdbinit", ".lldbinit",
			".lesskey", ".mailcap", ".muttrc", ".curlrc", ".wgetrc", ".pythonrc", ".pdbrc", ".irbrc", ".psqlrc", ".sqliterc", ".Rprofile", ".wezterm.lua", ".hammerspoon",
			"Documents/PowerShell", "Documents/WindowsPowerShell", ".config/powershell", ".crontab",
		}},
		{browser, []string{
			".mozilla", ".config/google-chrome", ".config/google-chrome-beta", ".config/google-chrome-unstable", ".config/chromium", ".config/BraveSoftware",
			".config/microsoft-edge", ".config/vivaldi", ".config/opera", ".config/librewolf", ".librewolf", ".waterfox", ".zen", ".local/share/epiphany", ".config/falkon",
			".thunderbird", "snap/firefox", "snap/chromium", "snap/thunderbird", ".var/app/org.mozilla.firefox",
			".var/app/com.google.Chrome", ".var/app/org.chromium.Chromium", ".var/app/com.brave.Browser", ".var/app/com.microsoft.Edge", ".var/app/org.mozilla.Thunderbird",
			"Library/Application Support/Google/Chrome", "Library/Application Support/Firefox", "Library/Application Support/BraveSoftware",
			"Library/Application Support/Microsoft Edge", "Library/Application Support/Chromium", "Library/Application Support/Arc",
			"Library/Application Support/Vivaldi", "Library/Application Support/com.operasoftware.Opera", "Library/Thunderbird",
			"Library/Safari", "Library/Containers/com.apple.Safari", "AppData/Local/Google/Chrome", "AppData/Local/Microsoft/Edge", "AppData/Local/Chromium", "AppData/Local/Vivaldi",
			"AppData/Local/BraveSoftware", "AppData/Roaming/Mozilla", "AppData/Roaming/Thunderbird", "AppData/Roaming/Opera Software",
		}},
		{words, []string{
			".config/Signal", ".config/Slack", ".config/discord", ".local/share/TelegramDesktop", ".config/Element", ".purple",
			"Library/Messages", "Library/Mail", "Library/Application Support/Signal", "Library/Application Support/Slack", "Library/Application Support/discord",
			"Library/Application Support/Telegram Desktop", "AppData/Roaming/Signal", "AppData/Roaming/Slack", "AppData/Roaming/discord", "AppData/Roaming/Telegram Desktop",
			".bash_history", ".zsh_history", ".zhistory", ".local/share/fish", ".python_history", ".psql_history", ".mysql_history", ".sqlite_history", ".node_repl_history",
			".lesshst", ".viminfo", ".wget-hsts", ".sh_history", ".ash_history", ".rediscli_history", ".mongorc.js", ".dbshell",
		}},
	}
}

// ofMachine returns the protected paths of the system. "*" matches one path element.
func ofMachine() []placeGroup {
	return []placeGroup{{machine, []string{
		"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/master.passwd", "/etc/spwd.db", "/etc/security/opasswd", "/etc/sudoers", "/etc/sudoers.d",
		"/etc/ssl/private", "/etc/pki/tls/private", "/etc/letsencrypt", "/etc/krb5.keytab", "/etc/wireguard", "/etc/openvpn", "/etc/ipsec.secrets", "/etc/ipsec.d/private",
		"/etc/NetworkManager/system-connections", "/etc/wpa_supplicant", "/etc/netplan", "/etc/ppp/chap-secrets", "/etc/ppp/pap-secrets", "/etc/mysql/debian.cnf",
		"/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key", "/etc/ssh/ssh_host_dsa_key", "/etc/kubernetes", "/etc/rancher", "/etc/docker/key.json",
		"/etc/cron.d", "/etc/cron.daily", "/etc/cron.hourly", "/etc/cron.weekly", "/etc/cron.monthly", "/etc/crontab", "/var/spool/cron", "/var/spool/at", "/etc/ld.so.preload",
		"/root", "/var/lib/docker", "/var/lib/containerd", "/var/lib/kubelet", "/var/run/secrets", "/run/secrets", "/run/credentials", "/run/user", "/var/run/docker.sock", "/run/docker.sock",
		"/var/lib/sss", "/var/lib/NetworkManager", "/var/backups", "/var/db/dslocal", "/private/var/db/dslocal", "/private/etc/master.passwd", "/private/etc/sudoers", "/var/db/shadow",
		"/Library/Keychains", "/Library/LaunchAgents", "/Library/LaunchDaemons", "/System/Library/LaunchDaemons", "/Library/StartupItems",
		"/boot", "/sys/firmware", "/sys/kernel/security", "/sys/kernel/debug", "/var/log/auth.log", "/var/log/secure",
	}}}
}

// namesProtectedAnywhere returns names that are protected in every folder: a single name, or
// consecutive path elements.
func namesProtectedAnywhere() [][]string {
	return [][]string{
		{".ssh"},
		{".gnupg"},
		{".aws"},
		{".azure"},
		{".kube"},
		{".git-credentials"},
		{".netrc"},
		{".pgpass"},
		{"id_rsa"},
		{"id_dsa"},
		{"id_ecdsa"},
		{"id_ed25519"},
		{".git", "hooks"},
		{".git", "config"},
		{".git", "modules"},
		{".config", "autostart"},
		{".docker", "config.json"},
		{".config", "gcloud"},
	}
}

// ofWindows returns protected names below the Windows folder, on any drive.
func ofWindows() [][]string {
	return [][]string{
		{"windows", "system32", "config"},
		{"windows", "sysnative", "config"},
		{"windows", "repair"},
		{"windows", "panther"},
		{"windows", "system32", "sysprep"},
		{"windows", "ntds"},
		{"programdata", "microsoft", "windows", "start menu", "programs", "startup"},
		{"system volume information"},
		{"$recycle.bin"},
	}
}
