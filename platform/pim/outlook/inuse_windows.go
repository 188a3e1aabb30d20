package outlook

import "golang.org/x/sys/windows/registry"

const office = `Software\Microsoft\Office\16.0\Outlook`

// InUse reports whether classic Outlook is installed and has an account. Without this check, the
// scripts would fail only after PowerShell has started.
func InUse() bool {
	classic, err := registry.OpenKey(registry.CLASSES_ROOT, `Outlook.Application\CLSID`, registry.QUERY_VALUE)
	if err != nil {
		return false
	}
	_ = classic.Close()
	if k, err := registry.OpenKey(registry.CURRENT_USER, office+`\Preferences`, registry.QUERY_VALUE); err == nil {
		on, _, err := k.GetIntegerValue("UseNewOutlook")
		if _ = k.Close(); err == nil && on == 1 {
			return false
		}
	}
	k, err := registry.OpenKey(registry.CURRENT_USER, office, registry.QUERY_VALUE)
	if err != nil {
		return false
	}
	defer func() { _ = k.Close() }()
	usual, _, err := k.GetStringValue("DefaultProfile")
	return err == nil && usual != ""
}
