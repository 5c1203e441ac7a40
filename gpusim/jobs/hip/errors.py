"""HIP's error codes: numbers and names are the interface's, the texts gpusim's own."""

from enum import IntEnum


class HipError(IntEnum):
    """hipError_t (hip_runtime_api.h of ROCm 6.4; ROCm 5 has a part of them, with the same numbers)."""

    Success = 0
    InvalidValue = 1
    OutOfMemory = 2
    NotInitialized = 3
    Deinitialized = 4
    ProfilerDisabled = 5
    ProfilerNotInitialized = 6
    ProfilerAlreadyStarted = 7
    ProfilerAlreadyStopped = 8
    InvalidConfiguration = 9
    InvalidPitchValue = 12
    InvalidSymbol = 13
    InvalidDevicePointer = 17
    InvalidMemcpyDirection = 21
    InsufficientDriver = 35
    MissingConfiguration = 52
    PriorLaunchFailure = 53
    InvalidDeviceFunction = 98
    NoDevice = 100
    InvalidDevice = 101
    InvalidImage = 200
    InvalidContext = 201
    ContextAlreadyCurrent = 202
    MapFailed = 205
    UnmapFailed = 206
    ArrayIsMapped = 207
    AlreadyMapped = 208
    NoBinaryForGpu = 209
    AlreadyAcquired = 210
    NotMapped = 211
    NotMappedAsArray = 212
    NotMappedAsPointer = 213
    ECCNotCorrectable = 214
    UnsupportedLimit = 215
    ContextAlreadyInUse = 216
    PeerAccessUnsupported = 217
    InvalidKernelFile = 218
    InvalidGraphicsContext = 219
    InvalidSource = 300
    FileNotFound = 301
    SharedObjectSymbolNotFound = 302
    SharedObjectInitFailed = 303
    OperatingSystem = 304
    InvalidHandle = 400
    IllegalState = 401
    NotFound = 500
    NotReady = 600
    IllegalAddress = 700
    LaunchOutOfResources = 701
    LaunchTimeOut = 702
    PeerAccessAlreadyEnabled = 704
    PeerAccessNotEnabled = 705
    SetOnActiveProcess = 708
    ContextIsDestroyed = 709
    Assert = 710
    HostMemoryAlreadyRegistered = 712
    HostMemoryNotRegistered = 713
    LaunchFailure = 719
    CooperativeLaunchTooLarge = 720
    NotSupported = 801
    StreamCaptureUnsupported = 900
    StreamCaptureInvalidated = 901
    StreamCaptureMerge = 902
    StreamCaptureUnmatched = 903
    StreamCaptureUnjoined = 904
    StreamCaptureIsolation = 905
    StreamCaptureImplicit = 906
    CapturedEvent = 907
    StreamCaptureWrongThread = 908
    GraphExecUpdateFailure = 910
    InvalidChannelDescriptor = 911
    InvalidTexture = 912
    Unknown = 999
    RuntimeMemory = 1052
    RuntimeOther = 1053

    @property
    def hip_name(self) -> str:
        """The name of the error as programs and hipGetErrorName write it."""
        return "hipSuccess" if self is HipError.Success else f"hipError{self.name}"

    @property
    def text(self) -> str:
        """The text that hipGetErrorString returns: a phrase of its own, or the name in words."""
        return _TEXTS.get(self) or _in_words(self.name)


_TEXTS = {
    HipError.Success: "no error",
    HipError.InvalidValue: "invalid argument",
    HipError.InvalidConfiguration: "invalid grid or block size",
    HipError.InvalidDeviceFunction: "invalid device function",
    HipError.NoDevice: "no simulated GPU: run the program by 'gpusim hip -- PROGRAM'",
    HipError.InvalidDevice: "no such device: there is one simulated GPU, number 0",
    HipError.NoBinaryForGpu: "the program has no code for the simulated GPU: see gpusim's message on standard error",
    HipError.LaunchFailure: "a kernel failed: see gpusim's message on standard error",
    HipError.NotSupported: "not supported by gpusim",
    HipError.NotReady: "not yet complete",
}


def _in_words(name: str) -> str:
    return "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()
