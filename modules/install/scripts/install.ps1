#Requires -Version 5.1
#Requires -RunAsAdministrator
<#
.SYNOPSIS
Installs an Outpost delegate on this Windows machine as a service. Run it again to upgrade it or to change its settings.
.PARAMETER From
The program: outpost.mjs and chunks\, in a folder or a .tar.gz; a path or a URL. The image has them in /app.
.PARAMETER Sha256
Digest of the .tar.gz; required with a URL.
.PARAMETER TokenFile
File with the enrolment token; or the token in the environment as DELEGATE_TOKEN.
.PARAMETER Uninstall
Removes everything.
#>
[CmdletBinding()]
param(
  [string]$From,
  [string]$Sha256,
  [string]$TokenFile,
  [string]$Prefix,
  [string]$Node,
  [string]$Listen,
  [switch]$NoStart,
  [switch]$Uninstall
)
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

# SETTINGS

if ($PSVersionTable.PSEdition -ne 'Desktop') {
  throw 'Run this in Windows PowerShell (powershell.exe): only that one can compile the service, and every Windows has it.'
}
if (-not $Prefix) { $Prefix = Join-Path $env:ProgramFiles $Name }
$Mark = Join-Path $Prefix '.installed'
$Service = Get-Service -Name $Name -ErrorAction SilentlyContinue
$IsOurs = (Test-Path -LiteralPath $Mark) -and ((Get-Content -LiteralPath $Mark -TotalCount 1) -eq $Name)

function Invoke-Program([string]$File, [string[]]$Arguments) {
  & $File @Arguments
  if ($LASTEXITCODE -ne 0) { throw "$File $Arguments ended with $LASTEXITCODE" }
}

function Stop-Delegate {
  if ($Service -and $Service.Status -ne 'Stopped') {
    Stop-Service -Name $Name -Force
    $Service.WaitForStatus('Stopped', [TimeSpan]::FromMinutes(11))
  }
}

if ($Uninstall) {
  # Only what this script has made is removed.
  if (-not $IsOurs) { throw "$Prefix is no installation of $Name; give its folder by -Prefix." }
  Stop-Delegate
  if ($Service) { Invoke-Program 'sc.exe' @('delete', $Name) | Out-Null }
  Remove-Item -LiteralPath $Prefix -Recurse -Force
  Write-Output "$Name is removed. Its tokens can be revoked in the service."
  return
}

# What it stands on.
if (-not $Node) {
  $Found = Get-Command -Name node.exe -ErrorAction SilentlyContinue
  if (-not $Found) { throw 'Node.js is not on the PATH: install version 20.19 or newer, or give -Node PATH.' }
  $Node = $Found.Path
}
$Version = [version]((& $Node --version).TrimStart('v').Split('-')[0])
if ($Version -lt [version]'20.19') { throw "$Node is version $Version; 20.19 or newer is needed." }
if ((Test-Path -LiteralPath $Prefix) -and -not $IsOurs -and (Get-ChildItem -LiteralPath $Prefix -Force)) {
  throw "$Prefix has other files in it: give an empty folder by -Prefix."
}
$App = Join-Path $Prefix 'app'
if (-not $From -and -not (Test-Path -LiteralPath (Join-Path $App 'outpost.mjs'))) { throw '-From is needed: the program as a file, a folder or a URL.' }

# The token: in these settings, a file or the environment; else the one of the last installation.
$EnvFile = Join-Path $Prefix 'etc\delegate.env'
$Old = @{}
if (Test-Path -LiteralPath $EnvFile) {
  foreach ($Line in [IO.File]::ReadAllLines($EnvFile)) {
    $At = $Line.IndexOf('=')
    if ($At -gt 0) { $Old[$Line.Substring(0, $At)] = $Line.Substring($At + 1) }
  }
}
if ($TokenFile) { $Token = (Get-Content -LiteralPath $TokenFile -Raw).Trim() }
if (-not $Token -and $env:DELEGATE_TOKEN) { $Token = $env:DELEGATE_TOKEN }
if (-not $Token -and $Old.ContainsKey('DELEGATE_TOKEN')) { $Token = $Old['DELEGATE_TOKEN'] }
if ($Token -notmatch '^[A-Za-z0-9._-]+$') { throw 'The enrolment token is missing, or is none: give -TokenFile FILE.' }
if (-not $Listen -and $Old.ContainsKey('OUTPOST_LISTEN')) { $Listen = $Old['OUTPOST_LISTEN'] }
if (-not $Listen) { $Listen = '127.0.0.1:3460' }

foreach ($Folder in @('bin', 'etc', 'work', 'tools\bin', 'log')) { New-Item -ItemType Directory -Force -Path (Join-Path $Prefix $Folder) | Out-Null }
[IO.File]::WriteAllText($Mark, "$Name`r`n")

# The program, beside the old one until it is known to work.
$New = Join-Path $Prefix 'app.new'
$Archive = Join-Path $Prefix 'app.tar.gz'
if (Test-Path -LiteralPath $New) { Remove-Item -LiteralPath $New -Recurse -Force }
if ($From) {
  New-Item -ItemType Directory -Path $New | Out-Null
  if (Test-Path -LiteralPath $From -PathType Container) {
    if ($Sha256) { throw "-Sha256 is the digest of a .tar.gz, and $From is a folder." }
    Copy-Item -LiteralPath (Join-Path $From 'outpost.mjs') -Destination $New
    Copy-Item -LiteralPath (Join-Path $From 'chunks') -Destination $New -Recurse
  } else {
    if ($From -match '^https?://') {
      if (-not $Sha256) { throw '-Sha256 is needed with a URL: what comes over the network is checked before it is run.' }
      [Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12
      $Request = @{ Uri = $From; OutFile = $Archive; UseBasicParsing = $true; TimeoutSec = 600 }
      foreach ($Line in $Environment) { if ($Line -like 'HTTPS_PROXY=*') { $Request.Proxy = $Line.Substring(12) } }
      Invoke-WebRequest @Request
    } else {
      Copy-Item -LiteralPath $From -Destination $Archive
    }
    $Is = (Get-FileHash -Algorithm SHA256 -LiteralPath $Archive).Hash
    if ($Sha256 -and $Is -ne $Sha256) {
      Remove-Item -LiteralPath $Archive
      throw "The digest of $From is $Is, not ${Sha256}: nothing of it was used."
    }
    Invoke-Program "$env:SystemRoot\System32\tar.exe" @('-xzf', $Archive, '-C', $New)
    Remove-Item -LiteralPath $Archive
  }
  Invoke-Program $Node @((Join-Path $New 'outpost.mjs'), '--version')
}

# A service must answer the service manager, which Node.js does not: this small program does, and passes a stop on as Ctrl+C.
$Source = @'
using System;
using System.Diagnostics;
using System.IO;
using System.Runtime.InteropServices;
using System.ServiceProcess;
using System.Threading;

public sealed class DelegateService : ServiceBase {
  [DllImport("kernel32.dll")] static extern bool AllocConsole();
  [DllImport("kernel32.dll")] static extern bool SetConsoleCtrlHandler(IntPtr handler, bool add);
  [DllImport("kernel32.dll")] static extern bool GenerateConsoleCtrlEvent(uint what, uint group);
  const int GraceMs = 600000;
  readonly string root = Path.GetDirectoryName(Path.GetDirectoryName(Process.GetCurrentProcess().MainModule.FileName));
  readonly object gate = new object();
  Process child;
  StreamWriter log;
  volatile bool stopping;

  public static void Main() { Run(new DelegateService()); }

  protected override void OnStart(string[] args) {
    // Ctrl+C goes to a console, and a service has none.
    AllocConsole();
    string file = Path.Combine(root, @"log\delegate.log");
    if (File.Exists(file) && new FileInfo(file).Length > 10485760) {
      File.Delete(file + ".1");
      File.Move(file, file + ".1");
    }
    log = new StreamWriter(new FileStream(file, FileMode.Append, FileAccess.Write, FileShare.ReadWrite));
    log.AutoFlush = true;
    Start();
  }

  void Start() {
    var info = new ProcessStartInfo();
    info.UseShellExecute = false;
    info.RedirectStandardError = true;
    info.RedirectStandardOutput = true;
    info.WorkingDirectory = Path.Combine(root, "work");
    foreach (string line in File.ReadAllLines(Path.Combine(root, @"etc\delegate.env"))) {
      int at = line.IndexOf('=');
      if (at > 0) info.EnvironmentVariables[line.Substring(0, at)] = line.Substring(at + 1);
    }
    info.FileName = File.ReadAllText(Path.Combine(root, @"etc\node")).Trim();
    info.Arguments = "\"" + Path.Combine(root, @"app\outpost.mjs") + "\" delegate";
    var started = new Process();
    started.StartInfo = info;
    started.EnableRaisingEvents = true;
    started.OutputDataReceived += Write;
    started.ErrorDataReceived += Write;
    started.Exited += Ended;
    lock (gate) {
      started.Start();
      child = started;
    }
    started.BeginOutputReadLine();
    started.BeginErrorReadLine();
  }

  void Write(object sender, DataReceivedEventArgs e) {
    if (e.Data != null) lock (log) log.WriteLine(e.Data);
  }

  // It is started again whenever it ends, until the service is asked to stop.
  void Ended(object sender, EventArgs e) {
    Thread.Sleep(5000);
    if (!stopping) Start();
  }

  protected override void OnStop() {
    stopping = true;
    RequestAdditionalTime(GraceMs + 30000);
    Process running;
    lock (gate) running = child;
    if (running == null || running.HasExited) return;
    // Only now: a child would inherit that Ctrl+C is ignored.
    SetConsoleCtrlHandler(IntPtr.Zero, true);
    GenerateConsoleCtrlEvent(0, 0);
    if (!running.WaitForExit(GraceMs)) running.Kill();
  }
}
'@
Stop-Delegate
$Exe = Join-Path $Prefix 'bin\service.exe'
if (Test-Path -LiteralPath $Exe) { Remove-Item -LiteralPath $Exe -Force }
Add-Type -TypeDefinition $Source -ReferencedAssemblies 'System.ServiceProcess' -OutputAssembly $Exe -OutputType ConsoleApplication

$Utf8 = New-Object Text.UTF8Encoding($false)
$CaFile = Join-Path $Prefix 'etc\ca.crt'
if ($Ca) { [IO.File]::WriteAllText($CaFile, $Ca, $Utf8) } elseif (Test-Path -LiteralPath $CaFile) { Remove-Item -LiteralPath $CaFile }
$Lines = @($Environment) + @(
  "DELEGATE_TOKEN=$Token",
  "OUTPOST_WORK_DIR=$Prefix\work",
  "OUTPOST_LISTEN=$Listen",
  "TOOLS=$Prefix\tools",
  "PATH=$Prefix\tools\bin;$env:SystemRoot\System32;$env:SystemRoot;$env:SystemRoot\System32\WindowsPowerShell\v1.0"
)
if ($Ca) { $Lines += "OUTPOST_CA_FILE=$CaFile" }
[IO.File]::WriteAllText((Join-Path $Prefix 'etc\node'), $Node, $Utf8)

# The service's own account; it may read the program and write its work, and only it and administrators may read the settings.
if (-not $Service) {
  New-Service -Name $Name -BinaryPathName "`"$Exe`"" -DisplayName "Outpost delegate ($Name)" -StartupType Automatic | Out-Null
}
$Account = "NT SERVICE\$Name"
Invoke-Program 'sc.exe' @('config', $Name, 'binPath=', "`"$Exe`"", 'start=', 'auto', 'obj=', $Account) | Out-Null
Invoke-Program 'sc.exe' @('failure', $Name, 'reset=', '0', 'actions=', 'restart/5000') | Out-Null
Invoke-Program 'icacls.exe' @($Prefix, '/inheritance:r', '/grant', '*S-1-5-32-544:(OI)(CI)F', '*S-1-5-18:(OI)(CI)F', "${Account}:(OI)(CI)RX") | Out-Null
foreach ($Folder in @('work', 'tools', 'log')) { Invoke-Program 'icacls.exe' @((Join-Path $Prefix $Folder), '/grant', "${Account}:(OI)(CI)M") | Out-Null }
# Written after its folder is closed to others.
[IO.File]::WriteAllLines($EnvFile, [string[]]$Lines, $Utf8)

# Tools that tasks need, by the script that came with the settings; it runs as you.
if ($Init) {
  $Script = Join-Path $Prefix 'etc\init.ps1'
  [IO.File]::WriteAllText($Script, $Init, $Utf8)
  $env:TOOLS = Join-Path $Prefix 'tools'
  Invoke-Program "$env:SystemRoot\System32\WindowsPowerShell\v1.0\powershell.exe" @('-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-File', $Script)
}

if (Test-Path -LiteralPath $New) {
  if (Test-Path -LiteralPath $App) { Remove-Item -LiteralPath $App -Recurse -Force }
  Move-Item -LiteralPath $New -Destination $App
}
if ($NoStart) {
  Write-Output "$Name is installed in $Prefix and not started."
  return
}
Start-Service -Name $Name

# Ready is when the service has let it in.
$Until = [DateTime]::UtcNow.AddSeconds(60)
while ($true) {
  try {
    if ((Invoke-WebRequest -UseBasicParsing -TimeoutSec 5 -Uri "http://$Listen/readyz").StatusCode -eq 200) { break }
  } catch {
    if ([DateTime]::UtcNow -gt $Until) {
      Get-Content -LiteralPath (Join-Path $Prefix 'log\delegate.log') -Tail 20 | Write-Warning
      throw "$Name is installed in $Prefix, and was not connected within a minute; its last lines are above."
    }
    Start-Sleep -Milliseconds 500
  }
}
Write-Output "$Name is installed in $Prefix and connected."
