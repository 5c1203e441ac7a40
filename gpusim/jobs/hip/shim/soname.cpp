// Which release's interface the library stands for: 5 in libamdhip64.so.5, 6 in libamdhip64.so.6.
extern "C" {
extern const int gpusim_hip_major;
const int gpusim_hip_major = GPUSIM_HIP_MAJOR;
}
