// MYGA (Allen-Zhu, Bubeck, Li 2018): mixture of the advice of the experts and of thresholds that remove rare arms.
//
// w_e ~ e^(-eta L_e) over N experts and the thresholds s, gamma < s <= 1/2, 1/(2T) apart. zeta is the mean advice of
// the experts; the likeliest arms with half of the mass of zeta are the majority. T_s q moves the mass of the minority
// arms with q_j <= s to the majority, in proportion. The mixture is a fixed point,
// q = (sum_e w_e E_e + sum_s w_s T_s q)/W:
//
//     minority  q_j (W_N + sum_{s >= q_j} w_s) = sum_e w_e E_ej, the smallest such q_j
//     majority  in proportion to sum_e w_e E_ej
//
// and the distribution played is T_gamma q. A round takes time O(K T), as published.
#include "../myga.hpp"

#include "../exp.hpp"

namespace hn::HN_ISA {

extern const Myga myga;

namespace {

/// Smallest q with q (W_N + weight of the thresholds >= q) = heard W_N.
double least_root(const MygaState& m, double heard, double real, const double* tails) {
    if (heard <= 0.0 || !(real > 0.0)) return 0.0;
    for (i64 k = 0; k < m.thresholds; ++k) {
        // q in (s_{k-1}, s_k]: the thresholds from k on would move its mass.
        const double q = heard * real / (real + tails[k]);
        if (q <= m.gamma + double(k + 1) * m.step) return q;
    }
    return heard;
}

/// Weighted mean of the advice of the real experts into q; returns their weight.
double hear(const MygaState& m, const double* advice, double base, double* w, double* q) {
    double real = 0.0;
    for (i64 i = 0; i < m.experts; ++i) real += w[i] = exp(m.eta * (base - m.L[i]));
    for (i64 j = 0; j < m.actions; ++j) q[j] = 0.0;
    if (real > 0.0) {
        for (i64 i = 0; i < m.experts; ++i)
            for (i64 j = 0; j < m.actions; ++j) q[j] += w[i] / real * advice[i * m.actions + j];
        return real;
    }
    // The thresholds have all the weight: use the advice of the best real expert.
    i64 best = 0;
    for (i64 i = 1; i < m.experts; ++i)
        if (m.L[i] < m.L[best]) best = i;
    for (i64 j = 0; j < m.actions; ++j) q[j] = advice[best * m.actions + j];
    return 0.0;
}

void mix(const MygaState& m, const double* advice, double* q, double* majority, double* p, double* w,
         double* tails) {
    double base = m.L[0];
    for (i64 i = 1; i < m.experts; ++i) base = min(m.L[i], base);
    for (i64 k = 0; k < m.thresholds; ++k) base = min(m.mistrust[k], base);
    const double real = hear(m, advice, base, w, p);  // p stores the weighted advice until q is computed
    tails[m.thresholds] = 0.0;
    for (i64 k = m.thresholds - 1; k >= 0; --k) tails[k] = tails[k + 1] + exp(m.eta * (base - m.mistrust[k]));
    // Collect the likeliest arms until they have half of the mass: take the largest remaining arm repeatedly.
    double held = 0.0, lead = 0.0, minor = 0.0, moved = 0.0;
    for (i64 j = 0; j < m.actions; ++j) majority[j] = 0.0;
    while (held < 0.5) {
        i64 top = -1;
        for (i64 j = 0; j < m.actions; ++j)
            if (majority[j] == 0.0 && (top < 0 || p[j] > p[top])) top = j;
        if (top < 0) break;
        majority[top] = 1.0;
        held += p[top];
        lead += p[top];
    }
    for (i64 j = 0; j < m.actions; ++j)
        if (majority[j] == 0.0) minor += q[j] = least_root(m, p[j], real, tails);
    for (i64 j = 0; j < m.actions; ++j)
        if (majority[j] == 1.0) q[j] = (1.0 - minor) * p[j] / lead;
    for (i64 j = 0; j < m.actions; ++j)
        if (majority[j] == 0.0 && q[j] <= m.gamma) moved += q[j];
    for (i64 j = 0; j < m.actions; ++j)
        p[j] = majority[j] == 1.0 ? q[j] * (1.0 + moved / (1.0 - minor)) : q[j] > m.gamma ? q[j] : 0.0;
}

void charge(MygaState& m, const double* advice, const double* q, const double* majority, i64 arm,
            double estimate) {
    for (i64 i = 0; i < m.experts; ++i) m.L[i] += advice[i * m.actions + arm] * estimate;
    double lead = 0.0;
    for (i64 j = 0; j < m.actions; ++j) lead += q[j] * majority[j];
    for (i64 k = 0; k < m.thresholds; ++k) {
        const double s = m.gamma + double(k + 1) * m.step;
        double share = q[arm] > s ? q[arm] : 0.0;
        if (majority[arm] == 1.0) {
            double moved = 0.0;
            for (i64 j = 0; j < m.actions; ++j)
                if (majority[j] == 0.0 && q[j] <= s) moved += q[j];
            share = q[arm] * (1.0 + moved / lead);
        }
        m.mistrust[k] += share * estimate;
    }
}

}  // namespace

const Myga myga = {mix, charge};

}  // namespace hn::HN_ISA
