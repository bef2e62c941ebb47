"""Names that the headers of C, OpenMP and CUDA define as macros or declare globally.

Collected from what g++ 12 and nvcc 13 define and reject after `#include "hidet.h"`. Families of
names are patterns, which cover slightly more names than exist.
"""

import re

_MACRO_TEXT = """
AIO_PRIO_DELTA_MAX BIG_ENDIAN BUFSIZ BYTE_ORDER CHARCLASS_NAME_MAX CLOCKS_PER_SEC COLL_WEIGHTS_MAX
CSIGNAL CUDARTAPI CUDARTAPI_CDECL DELAYTIMER_MAX EXPR_NEST_MAX FILENAME_MAX FOPEN_MAX
HOST_NAME_MAX IF_DEVICE_OR_CUDACC IOV_MAX LINE_MAX LITTLE_ENDIAN LOGIN_NAME_MAX L_ctermid
L_cuserid L_tmpnam MATH_ERREXCEPT MATH_ERRNO MAXFLOAT MAX_CANON MAX_INPUT MB_CUR_MAX MB_LEN_MAX
MLOCK_ONFAULT MQ_PRIO_MAX NAME_MAX NFDBITS NGROUPS_MAX NV_HAS_FEATURE_SM_100a
NV_HAS_FEATURE_SM_101a NV_HAS_FEATURE_SM_90a NZERO PATH_MAX PDP_ENDIAN PIPE_BUF P_tmpdir RAND_MAX
RE_DUP_MAX RTSIG_MAX SEM_VALUE_MAX SNAN SNANF SNANF32 SNANF32X SNANF64 SNANF64X SNANL SSIZE_MAX
TIMER_ABSTIME TIME_UTC TMP_MAX TTY_NAME_MAX WCONTINUED WEXITED WEXITSTATUS WIFCONTINUED WIFEXITED
WIFSIGNALED WIFSTOPPED WNOHANG WNOWAIT WORD_BIT WSTOPPED WSTOPSIG WTERMSIG WUNTRACED alloca
assert_perror i386 isascii issubnormal math_errhandling offsetof sched_priority setjmp sigsetjmp
strdupa strndupa toascii
"""

_DECLARED_TEXT = """
MAJOR_VERSION MINOR_VERSION PATCH_LEVEL a64l abort abs acos acosh aligned_alloc arc4random
arc4random_buf arc4random_uniform asctime asin asinh asprintf atan atan2 atanh atexit atof atoi
atol bcmp bcopy bsearch bzero calloc canonicalize canonicalize_file_name cbrt ceil clearenv
clearerr clock clock64 clock_adjtime clock_getcpuclockid clock_getres clock_gettime
clock_nanosleep clock_settime clone collective copysign cos cosh cospi ctermid ctime cuserid
cyl_bessel_i0 cyl_bessel_i1 daylight difftime div dprintf drand48 drem dysize ecvt erand48 erf
erfc erfcinv erfcx erfinv exit exp exp10 exp2 explicit_bzero expm1 fabs fadd fclose fcloseall fcvt
fd_mask fd_set fdim fdiv fdivide fdopen feof ferror fflush ffma ffs ffsl fgetc fgetpos fgetpos64
fgets fileno finite flockfile floor fma fmax fmaximum fmaximum_mag fmaximum_mag_num fmaximum_num
fmaxmag fmemopen fmin fminimum fminimum_mag fminimum_mag_num fminimum_num fminmag fmod fmul fopen
fopen64 fopencookie fprintf fputc fputs fread free freopen freopen64 frexp fromfp fromfpx fscanf
fseek fseeko fseeko64 fsetpos fsetpos64 fsqrt fsub ftell ftello ftello64 ftrylockfile funlockfile
fwrite gamma gcvt getc getchar getcpu getdate getdate_err getdelim getenv getline getloadavg
getpayload getpt getsubopt getw gmtime grantpt half hypot ilogb initstate isalnum isalpha isblank
iscntrl isctype isdigit isgraph isinf islower isnan isprint ispunct isspace isupper isxdigit j0 j1
jmp_buf jn jrand48 l64a labs lcong48 ldexp ldiv lgamma libraryPropertyType llabs lldiv llmax llmin
llogb llrint llround localtime log log10 log1p log2 logb longjmp lrand48 lrint lround madvise
malloc max mblen mbstowcs mbtowc memccpy memchr memcmp memcpy memfd_create memfrob memmem memmove
mempcpy memset min mincore mkdtemp mkostemp mkostemp64 mkostemps mkostemps64 mkstemp mkstemp64
mkstemps mkstemps64 mktemp mktime mlock mlock2 mlockall mmap mmap64 modf mprotect mrand48 mremap
msync munlock munlockall munmap nan nanosleep nearbyint nextafter nextdown nexttoward nextup norm
norm3d norm4d normcdf normcdfinv nrand48 nv obstack_printf obstack_vprintf on_exit open_memstream
pclose perror pkey_alloc pkey_free pkey_get pkey_mprotect pkey_set popen posix_madvise
posix_memalign posix_openpt pow process_madvise process_mrelease pselect ptsname putc putchar
putenv puts putw qecvt qfcvt qgcvt qsort quick_exit rand random rcbrt realloc reallocarray
realpath remainder remap_file_pages remove remquo rename renameat renameat2 rewind rhypot rint
rnorm rnorm3d rnorm4d round roundeven rpmatch rsqrt scalb scalbln scalbn scanf
sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getcpu sched_getparam
sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setparam sched_setscheduler
sched_yield secure_getenv seed48 select setbuf setbuffer setenv setlinebuf setns setpayload
setpayloadsig setstate setvbuf shm_open shm_unlink sigabbrev_np sigdescr_np sigjmp_buf siglongjmp
signgam significand sin sincos sincospi sinh sinpi snprintf sprintf sqrt srand srand48 srandom
sscanf stpcpy stpncpy system tan tanh tempnam tgamma time timegm timelocal timer_create
timer_delete timer_getoverrun timer_gettime timer_settime timespec_get timespec_getres timezone
tmpfile tmpfile64 tmpnam tolower totalorder totalordermag toupper trunc tzname tzset u_char u_int
u_long u_short ufromfp ufromfpx uint ullmax ullmin ulong umax umin ungetc unlockpt unsetenv
unshare ushort valloc vasprintf vdprintf vfprintf vfscanf vprintf vscanf vsnprintf vsprintf
vsscanf wcstombs wctomb y0 y1 yn
"""

_PREFIXES = """
ADJ BC BOOL CHAR CLOCK CLONE CPU CU CUDA CUDART EXIT FD FP HIDET HUGE INT INT16 INT32 INT64 INT8
INTMAX INTPTR LLONG LONG MADV MAP MCL MFD MOD MREMAP MS NL NV PKEY POSIX PROT PTHREAD PTRDIFF
RENAME SCHAR SCHED SEEK SHRT SIG SIZE STA UCHAR UINT UINT16 UINT32 UINT64 UINT8 UINTMAX UINTPTR
ULLONG ULONG USHRT WCHAR WINT XATTR
"""

_MACROS = frozenset(_MACRO_TEXT.split())
_DECLARED = frozenset(_DECLARED_TEXT.split())

_MACRO_FAMILIES = re.compile(
    rf"(?:{'|'.join(_PREFIXES.split())})_[A-Z0-9_]*[A-Z0-9]"
    r"|M_(?:E|1_PI|2_PI|2_SQRTPI|LN2|LN10|LOG2E|LOG10E|PI|PI_2|PI_4|SQRT2|SQRT1_2)[flx0-9]*"
    r"|[bl]e\d\dtoh|hto[bl]e\d\d|cuda[A-Z]\w*|(?:is|to)[a-z]+_l|(?:va|pthread)_\w+"
)

_DECLARED_FAMILIES = re.compile(
    r"\w+_t"
    r"|(?:omp|make|nv|hidet)_\w+"
    r"|(?:cuda|atomic|tex|surf)[A-Z0-9]\w*"
    r"|CU[a-z]\w*"
    r"|u?(?:char|short|int|long|longlong|float|double|half|dim)[1-4]\w*"
    r"|str(?:[cdfnp]|err|len|rch|sep|sig|sp|st|to|ver|xf)\w*|\w+_[rl]|\w+_unlocked"
    r"|f(?:32|64)x?[a-z]+f(?:32|64)x?|d(?:add|div|fma|mul|sqrt|sub)l"
)

_SUFFIX_OF_MATHEMATICS = re.compile(r"(?:f32x?|f64x?|f|l)$")


def is_macro(name: str) -> bool:
    """Return whether a header may define a macro of this name, which nothing can be named."""
    return name in _MACROS or _MACRO_FAMILIES.fullmatch(name) is not None


def is_declared(name: str) -> bool:
    """Return whether a header may declare this name globally, which no kernel can be named."""
    return (
        name in _DECLARED
        or _SUFFIX_OF_MATHEMATICS.sub("", name) in _DECLARED
        or _DECLARED_FAMILIES.fullmatch(name) is not None
    )
