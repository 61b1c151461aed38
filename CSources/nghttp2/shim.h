#include <nghttp2/nghttp2.h>

/* Earlier versions lack a limit of streams that clients reset (CVE-2023-44487); distributions
 * have it from 1.52 by security updates, upstream from 1.57. */
#if NGHTTP2_VERSION_NUM < 0x013400
#error "larderd requires nghttp2 1.52 or later"
#endif
