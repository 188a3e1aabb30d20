# What the scripts over classic Outlook share (learn.microsoft.com, "Outlook VBA
# reference"). The new Outlook has no object model at all.
$office = 'HKCU:\Software\Microsoft\Office\16.0\Outlook'
function Attach($start) {
  $me = New-Object Security.Principal.WindowsPrincipal ([Security.Principal.WindowsIdentity]::GetCurrent())
  if ($me.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) {
    Refuse 'setup_required' 'Hob runs as administrator but Outlook does not; start Hob as a normal user'
  }
  if (-not (Test-Path -LiteralPath 'Registry::HKEY_CLASSES_ROOT\Outlook.Application\CLSID')) {
    Refuse 'not_installed' 'classic Outlook'
  }
  $new = Get-ItemProperty -LiteralPath ($office + '\Preferences') -Name 'UseNewOutlook' -ErrorAction SilentlyContinue
  if ($new.UseNewOutlook -eq 1) {
    Refuse 'setup_required' 'the new Outlook does not support automation; add the account to Hob or switch to classic Outlook'
  }
  $usualProfile = Get-ItemProperty -LiteralPath $office -Name 'DefaultProfile' -ErrorAction SilentlyContinue
  if (-not $usualProfile.DefaultProfile) {
    Refuse 'setup_required' 'Outlook has no account yet'
  }
  $outlook = $null
  try {
    $outlook = [Runtime.InteropServices.Marshal]::GetActiveObject('Outlook.Application')
  } catch {
    $outlook = $null
  }
  if (-not $outlook) {
    if (-not $start) {
      Refuse 'not_running' 'Outlook'
    }
    $outlook = New-Object -ComObject Outlook.Application
    $script:started = $true
  }
  $space = $outlook.GetNamespace('MAPI')
  if ($script:started) {
    $space.Logon([Type]::Missing, [Type]::Missing, $false, $false)
  }
  $script:outlook = $outlook
  return $space
}
function Folder($space, $name) {
  # OlDefaultFolders
  $usual = @{ '' = 6; 'inbox' = 6; 'sent' = 5; 'drafts' = 16; 'trash' = 3; 'junk' = 23 }
  if ($usual.ContainsKey($name)) {
    return $space.GetDefaultFolder($usual[$name])
  }
  foreach ($store in $space.Stores) {
    foreach ($folder in $store.GetRootFolder().Folders) {
      if ($folder.Name -eq $name) {
        return $folder
      }
    }
  }
  Refuse 'not_found' 'no such folder'
}
function Millis($date) {
  if (-not $date) {
    return 0
  }
  return [long](([datetime]$date).ToUniversalTime() - (New-Object datetime 1970, 1, 1)).TotalMilliseconds
}
function Field($item, $tag) {
  try {
    return [string]$item.PropertyAccessor.GetProperty('http://schemas.microsoft.com/mapi/proptag/' + $tag)
  } catch {
    return ''
  }
}
function Local($millis) {
  return (New-Object datetime 1970, 1, 1, 0, 0, 0, ([DateTimeKind]::Utc)).AddMilliseconds($millis).ToLocalTime()
}
# Day is a date without a zone; Outlook keeps "none" as a day of the year 4501.
function Day($date) {
  if (-not $date -or ([datetime]$date).Year -ge 4500) {
    return ''
  }
  return ([datetime]$date).ToString('yyyy-MM-dd', [Globalization.CultureInfo]::InvariantCulture)
}
function OnDay($text) {
  return [datetime]::ParseExact($text, 'yyyy-MM-dd', [Globalization.CultureInfo]::InvariantCulture)
}
function Piece($text, $most) {
  $whole = [string]$text
  if ($whole.Length -gt $most) {
    return $whole.Substring(0, $most)
  }
  return $whole
}
# HasAll says whether a text holds all of the words.
function HasAll($text, $words) {
  foreach ($word in $words) {
    if ($text.IndexOf([string]$word, [StringComparison]::OrdinalIgnoreCase) -lt 0) {
      return $false
    }
  }
  return $true
}
function Stamp($item) {
  return [string](Millis $item.LastModificationTime)
}
# Same gives an item that is as it was, and stops at another version.
function Same($space, $in) {
  try {
    $item = $space.GetItemFromID($in.id, $in.store)
  } catch {
    Refuse 'not_found' 'the item no longer exists'
  }
  if ($in.version -and (Stamp $item) -ne $in.version) {
    Refuse 'changed' 'the item changed in the meantime'
  }
  return $item
}
