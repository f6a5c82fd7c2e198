"""The fifth set of recipes: small exports of programs, services and registers; first run before any was mended."""

from __future__ import annotations

import zlib
from dataclasses import replace

from tests.data.corpus.tables import Recipe, read_verdicts

READABLE = """\
# Libraries and statistics programs.
cross_val layout=pandas :: cv_fold = int 0 4 | y_valid = y 0/1 | cv_proba = p d=16
frame_of_proba layout=unnamed :: {i} = each d=8 | y_test_species = y ash/birch/maple
calibrated_cv :: age_years = age | grade3 = flag | relapse_true = y 0/1 rate=.3 | p_isotonic = p d=6
hist_boosting layout=split_json :: row_nr = rownum 0 | true_flag = y False/True | positive_proba = p d=8
keras_onehot :: img = id im | true_{} = onehot cat/cow/hen | pred_{} = each d=6
val_epoch layout=jsonl :: epoch = const 12 | batch_idx = int 0 9 | gt_cls = y 0..3 | softmax_{} = each d=6
lightning_logits layout=parquet :: sample_key = uuid | sig_logit = p s=logit d=6 | lesion_gt = y 0/1 rate=.3
fastai_probs :: fname = id img_ | actual_breed = y beagle/pug/shiba | pred_breed = pred | beagle = p of=beagle d=6 |
    pug = p of=pug d=6 | shiba = p of=shiba d=6
last_fit layout=rnames :: .pred_bad = p of=bad d=8 | .pred_good = p of=good d=8 | id = const train/test~split |
    .row = rownum 3 | .pred_class = pred | Status = y good/bad rate=.3 | .config = const Preprocessor1_Model1
caret_resamples layout=write_table :: pred = pred | obs = y Healthy/Disease rate=.35 | Healthy = p of=Healthy d=7 |
    Disease = p of=Disease d=7 | rowIndex = rownum 1 | mtry = const 2 | Resample = cat Fold1.Rep1/Fold2.Rep1
write_table_plain layout=write_table :: bodyfat = normal 24 6 | diabet = y 0/1 rate=.3 | fit_prob = p d=8
lme4_fit layout=csv2 :: herd = cluster 7 | period = int 1 4 | seropositive = y 0/1 rate=.25 | fitted_prob = p d=7
yardstick_hpc layout=tab :: Resample = cat Fold01/Fold02 | truth_class = y F/L/M/VF | .pred_F = p of=F d=7 |
    .pred_M = p of=M d=7 | .pred_L = p of=L d=7 | .pred_VF = p of=VF d=7
sas_phat layout=sql_server :: _LEVEL_ = const 1 | REMISS = y 0/1 rate=.35 | CELL = unit | PHAT = p d=5 |
    LCL = near -.15 | UCL = near .15
em_score :: F_CHURN_FLG = y N/Y rate=.2 | I_CHURN_FLG = pred | P_CHURN_FLGY = p of=Y d=7 | P_CHURN_FLGN = p of=N d=7 |
    _WARN_ = blank
spss_discrim layout=xlsx :: caseno = rownum 1 | region = y 1/2/3 | Dis_1 = pred | Dis{}_2 = each d=5
modeler_c5 layout=windows :: BP = cat HIGH/LOW/NORMAL | Na = unit | Drug = y drugA/drugX/drugY | $C-Drug = pred |
    $CC-Drug = conf d=3
stata_margins layout=tab :: idno = rownum 1 | in_labor_force = y 0/1 rate=.55 | kids5 = int 0 3 | pr_lfp = p d=7 |
    _est_logit1 = const 1
jmp_nominal layout=xlsx_titled :: Subject ID = id S | Most Likely Severity = pred |
    Severity = y Mild/Moderate/Severe | Prob[Severe] = p of=Severe d=5 |
    Prob[Moderate] = p of=Moderate d=5 | Prob[Mild] = p of=Mild d=5
enterprise_gb layout=pipe :: cust_key = rownum 88001 | GB_IND = y GOOD/BAD rate=.2 | EM_PROBABILITY_BAD = p d=6
knime_gauss layout=knime :: cultivar = y one/three/two | P (cultivar_pred={}) = each d=5 | Prediction (cultivar) = pred
mlr_task layout=rnames :: id = rownum 1 | truth = y -1/1 rate=.4 | prob.-1 = p of=-1 d=6 | prob.1 = p of=1 d=6 |
    response = pred | iter = int 1 3

# Cloud services and machine-learning platforms.
h2o_cars :: predict = pred | compact = p of=compact d=8 | midsize = p of=midsize d=8 | suv = p of=suv d=8 |
    car_class = y compact/midsize/suv
h2o_stderr :: predict = pred | No = p of=No d=8 | Yes = p of=Yes d=8 | StdErr = unit | Relapse12 = y No/Yes rate=.3
autopilot_vector :: target_intent = y cancel/order/track | predicted_label = pred |
    probabilities = vec form=json d=5 | labels = const ['cancel',~'order',~'track']
bqml_text layout=csv :: predicted_species_name = pred | predicted_species_name_probs = vec form=label_prob d=6 |
    species_name = y Adelie/Chinstrap/Gentoo
vertex_scores layout=jsonl :: late_shipment = y no/yes rate=.3 | late_shipment_scores = vec form=json d=6 |
    late_shipment_classes = const ["no",~"yes"]
automl_test :: income_orig = y <=50K/>50K rate=.3 | income_predicted = pred |
    <=50K_predicted_proba = p of=<=50K d=6 | >50K_predicted_proba = p of=>50K d=6
mlflow_eval layout=split_json :: petal_len = positive | target = y 0/1 | prediction = pred | prediction_score = p d=8
frame_default layout=frame_json :: tenure_days = int 1 900 | cancelled_plan = y 0/1 rate=.25 | cancel_score = p d=6
spark_vector :: device_id = rownum 501 | failed_label = y 0/1 rate=.3 | probability = vec form=json d=6 |
    prediction = pred
snowpark :: ORDER_KEY = rownum 9001 | RETURNED_FLAG = y 0/1 rate=.3 | OUTPUT_PREDICT_PROBA_0 = p of=0 d=8 |
    OUTPUT_PREDICT_PROBA_1 = p of=1 d=8 | OUTPUT_PREDICT = pred
feature_store layout=parquet :: entity_key = uuid | event_ts = date form=%Y-%m-%dT%H:%M:%S |
    model_ver = const 2024.3 |
    score_event = p d=7 | observed_event = y 0/1 rate=.2
redshift_ml layout=pipe :: acct_nbr = rownum 4001 | attrited = y f/t rate=.25 | attrited_prob = p d=6
monitor_job :: inference_id = uuid | ground_truth_label = y approve/reject rate=.4 | inferred_label = pred |
    reject_probability = p d=6
comprehend :: File = const docs.csv | Line = rownum 0 | GoldClass = y COMPLAINT/PRAISE/QUESTION |
    Classes.{} = each d=5
datarobot_reasons :: row_id = rownum 0 | readmitted = y False/True rate=.3 |
    readmitted_True_PREDICTION = p of=True d=8 | readmitted_False_PREDICTION = p of=False d=8 |
    EXPLANATION_1_STRENGTH = cat +++/++/--
bool_service layout=records :: requestId = uuid | isBot = y False/True rate=.3 | botProbability = p d=6
kaggle_depression :: id = rownum 140700 | City = cat Agra/Pune/Thane | Depression = y 0/1 rate=.2 |
    Depression_pred = p d=8
kaggle_weapons :: session_id = rownum 20090312 | correct = y 0/1 rate=.7 | correct_pred = p d=6
kaggle_fertilizer :: id = rownum 750000 | Fertilizer Name = y 14-35-14/17-17-17/20-20/Urea | {} = each d=6
kaggle_hms :: eeg_id = rownum 39110 | expert_consensus = y GPD/GRDA/LPD/LRDA/Other/Seizure |
    {}_vote = each d=6 order=shuffled

# Language models and pipelines.
hf_top_label :: text = text | label_gold = y NEGATIVE/POSITIVE rate=.5 | label = pred | score = conf d=10
hf_indices :: text = text | gold_int = y 0/1/2 | label = pred LABEL_0/LABEL_1/LABEL_2 | score = conf d=8
hf_all_scores layout=jsonl :: sentence = text | true_topic = y Business/Sports/World |
    scores = vec form=label_score d=6
zero_shot :: sequence = text | true_tag = y billing/bug/praise | {}_entailment = each d=5
nli_dict :: premise_no = rownum 1 | gold_relation = y contradiction/entailment/neutral |
    relation_probs = vec form=dict d=5
logit_vector :: sent_id = rownum 0 | cola_label = y 0/1 | probs = vec form=numpy d=6
fraction_votes :: task_nr = rownum 1 | agreement = conf s=frac steps=20 | majority_correct = correct 0/1
llm_percent_text :: qid = id q | model_reply = text | stated_certainty = conf s=pct d=0 steps=20 unit=% |
    graded_correct = correct no/yes
p_true_eval layout=jsonl :: question = text questions | generated = text | p_true_token = conf d=6 |
    judge_label = correct INCORRECT/CORRECT
arena_router :: prompt = text questions | tier = cat easy/hard | router_confidence = conf d=3 |
    route_was_right = correct False/True
rag_log layout=jsonl :: query = text questions | retrieved_k = int 1 9 | answer_conf = conf d=2 |
    faithful = correct 0/1
mcq_probs :: question_idx = rownum 0 | gold_option = y A/B/C/D | prob_A = p of=A d=6 | prob_B = p of=B d=6 |
    prob_C = p of=C d=6 | prob_D = p of=D d=6 | chosen_option = pred
intent_llm layout=records :: utterance_txt = text | annotated_intent = y book/cancel/other | llm_intent = pred |
    llm_intent_confidence = conf s=pct d=0 steps=20
ten_of_ten :: qn = rownum 1 | conf_of_10 = conf s=frac steps=10 | verdict_ok = correct no/yes
toxicity_api :: comment_no = rownum 1 | human_toxic = y 0/1 rate=.3 | TOXICITY.summaryScore = p d=8
guardrail layout=jsonl :: prompt_text = text | unsafe_human = y False/True rate=.3 | unsafe_prob = p d=5
markdown_eval layout=markdown :: case_nr = rownum 1 | verbal_pct = conf s=pct d=0 steps=20 | was_right = correct no/yes
dedup_pairs layout=tab :: left_id = id L | right_id = id R | is_duplicate_gold = y 0/1 rate=.4 | dup_probability = p d=5

# Medicine.
icu_apache :: patientunitstayid = rownum 141168 | hospitalid = cluster 6 | apachescore = int 20 140 |
    predictedhospitalmortality = p d=6 | actualhospitalmortality = y ALIVE/EXPIRED rate=.2
prevent_cvd layout=xlsx :: MRN = rownum 500121 | SBP mmHg = normal 128 15 d=0 | PREVENT 10-yr risk (%) = p s=pct d=1 |
    CVD event = y No/Yes rate=.2
vte_caprini :: surg_id = id SX | caprini_points = int 0 14 | vte_pred_prob = p d=4 | vte_30d = y 0/1 rate=.15
ppm_screen :: specimen = id SP | carrier = y 0/1 rate=.2 | carrier_risk_ppm = p s=ppm
preop_app layout=semicolon :: OP-Datum = date form=%d.%m.%Y | ASA-Klasse = int 1 4 | Komplikation = y nein/ja rate=.25 |
    Komplikationsrisiko = p s=pct d=1 unit=~%
schlaganfall_de layout=latin :: Fallnummer = rownum 71001 | NIHSS = int 0 30 | Tod 90 Tage = y 0/1 rate=.25 |
    vorhergesagtes Sterberisiko = p d=3
deces_rea_fr layout=comma :: n° séjour = rownum 33001 | service = cluster REA 5 | décès_réa = y non/oui rate=.25 |
    probabilité_décès_réa = p d=3
recaida_es layout=bom_comma :: n.º expediente = id EX | fármaco = cat A/B | recaída = y no/sí rate=.3 |
    prob_recaída_pct = p s=pct d=1
dimissione_it layout=comma :: id ricovero = id RC | rientro_30gg = y no/sì rate=.25 | prob_rientro_30gg = p d=3
reinternacao_pt layout=semicolon :: prontuario_id = rownum 900 | reinternado = y nao/sim rate=.25 |
    risco_reinternacao = p d=4
gcs_outcome :: trial_arm = group control/txa | mort14 = y 0/1 rate=.2 | crash_pred = p d=5 | ip_weights = weight
biopsy_reads layout=xlsx_titled :: slide_label = id SL | gleason_gt = y benign/GG1/GG2 | p_benign = p of=benign d=4 |
    p_GG1 = p of=GG1 d=4 | p_GG2 = p of=GG2 d=4
drop_first :: tissue_id = id T | subtype = y basal/her2/luminal | prob_{} = each d=5 skip=basal
drop_last layout=tab :: visit_id = rownum 1 | stage_true = y 0/1/2/3 | p_stage_{} = each d=5 skip=3
ward_falls :: ward_code = maybe_cluster W 6 | fall_during_stay = y N/Y rate=.2 | Fall_Risk_Prob = p d=3
growth_nodule layout=quoted :: nodule = id N | size_mm = positive | cancer_dx = y benign/malignant rate=.3 |
    brock_prob_malignant = p d=4
sex_predict :: bone_id = id B | sex_known = y F/M rate=.5 | prob_M = p d=4
pct_sign_multi :: scan = id SC | dx_final = y AD/CN/MCI | {}_prob = each s=pct d=1 unit=%
gaps_na blank=icu_death:0.1,pred_icu_death:0.05 na=NULL :: stay = rownum 30001 | icu_death = y 0/1 rate=.25 |
    pred_icu_death = p d=5

# Credit, insurance, fraud, customers.
pd_master :: OBLIGOR_ID = id OB | RATING_GRADE = cat A/BBB/BB/B | PD_PIT_12M = p d=6 | DFLT_12M_IND = y 0/1 rate=.15 |
    EAD_EUR = money
credit_score_pd :: applicant = rownum 1 | credit_score = int 320 840 | pd_estimate = p d=5 |
    bad_12m = y 0/1 rate=.2
bps_named :: loan_key = id L | default_prob_bps = p s=bps | defaulted_1y = y 0/1 rate=.2
ausfall_xlsx layout=xlsx_titled :: Vertragsnr. = rownum 4401 | Bonitätsnote = int 1 6 |
    Ausfall (1 = ja) = y 0/1 rate=.2 |
    Ausfallwahrscheinlichkeit 12 Monate = p s=pct d=2
defaillance_fr layout=semicolon :: siren = rownum 312000001 | chiffre_affaires = money | défaillant = y 0/1 rate=.2 |
    pd_un_an = p d=5
morosidad_es layout=utf16_comma :: Nº contrato = id CT | Oficina = cluster OF 6 | Moroso 90 días = y No/Sí rate=.2 |
    Prob. morosidad = p d=3
actuarial_lapse :: policy_no = id P | policy_year = int 1 20 | lapsed_ind = y 0/1 rate=.2 |
    lapse_rate_pred = p d=5 | exposure_years = weight
mortality_qx layout=csv2 :: Versichertennr = rownum 60001 | Alter = age | verstorben = y 0/1 rate=.2 |
    qx_modell = p d=5
claims_frac :: claim_nbr = id CL | fraud_confirmed = y N/Y rate=.25 | referee_share = p s=frac
card_present layout=jsonl :: txn_id = uuid | txn_ts = date form=%Y-%m-%dT%H:%M:%SZ | mcc = int 4000 7999 |
    is_chargeback = y 0/1 rate=.2 | risk_prob = p d=6
resubscribe layout=frame_json :: user_hash = uuid | resubscribed = y False/True rate=.4 | resub_likelihood = p d=4
voucher_nl layout=semicolon :: klant = rownum 1 | bon_gebruikt = y nee/ja rate=.3 | kans_bon_gebruikt = p d=3
credit_score_classes :: Customer_ID = id CUS | Credit_Score = y Good/Poor/Standard | Credit_Score_{} = each d=5
lead_pct :: Lead Number = rownum 579533 | Converted = y 0/1 rate=.4 | Lead Score = int 0 100 |
    Conversion_Prob = p d=6
staffing :: emp_code = id E | quit_within_1y = y stayed/quit rate=.25 | p_quit = p d=4 | tenure_yrs = positive
model_long n=60 :: scorer = model gbm/logit | app_no = rownum 1 | went_bad = y 0/1 rate=.3 | pd_hat_scorer = p d=5

# Weather, sports, nature, machines.
pop_forecast :: valid_date = date | station_no = maybe_cluster 6 | pop12_pct = p s=pct d=0 steps=10 |
    measurable_precip = y 0/1 rate=.35
tercile_outlook :: gridpoint = rownum 1 | obs_tercile = y above/below/normal | prob_above_pct = p of=above s=pct d=0 |
    prob_normal_pct = p of=normal s=pct d=0 | prob_below_pct = p of=below s=pct d=0
members_text :: init = date form=%Y%m%d%H | members_above_25mm = p s=frac steps=51 | obs_above_25mm = y 0/1 rate=.3
nebel_de layout=excel :: Flughafen = maybe_cluster EDD 5 | Nebel beobachtet = y nein/ja rate=.3 |
    Nebelwahrscheinlichkeit (%) = p s=pct d=0
orage_fr layout=tab :: commune = id C | orage_survenu = y 0/1 rate=.3 | indice_proba_orage = p d=2
helada_es layout=comma :: parcela = rownum 1 | heló = y no/sí rate=.3 | probabilidad_helada = p d=2
league_hda :: Div = const E0 | HomeTeam = cat Leeds/Fulham/Everton | FTHG = int 0 4 | FTR = y A/D/H |
    PH = p of=H d=3 | PD = p of=D d=3 | PA = p of=A d=3
with_decimal_odds :: match_day = date | AvgOver25 = normal 1.9 .2 d=2 | over25 = y 0/1 rate=.5 |
    model_over25 = p d=4
race_card :: race_id = cluster R 8 | draw = int 1 12 | won_race = y 0/1 rate=.2 | win_chance_pct = p s=pct d=1
board_wdl layout=tab :: ply_no = int 10 80 | game_result = y black/draw/white | engine_{}_permille = each s=permille d=0
serve_points :: player = cat AA/BB/CC | server_won = y 0/1 rate=.6 | serve_win_prob = p d=4 | set_no = int 1 5
yield_lot :: lot_no = id LT | etch_s = normal 62 4 | die_yielded = y 0/1 rate=.7 | yield_prob = p d=5
bearing_hours layout=sql_server :: asset = id AS | run_hours = thousands | failed_next_100h = y 0/1 rate=.25 |
    p_fail_100h = p d=5
bird_calls :: clip_name = id XC | true_species = y Erithacus~rubecula/Parus~major/Turdus~merula |
    Erithacus_rubecula = p of=Erithacus~rubecula d=5 |
    Parus_major = p of=Parus~major d=5 | Turdus_merula = p of=Turdus~merula d=5
pixel_space layout=write_table :: lc_ref = y crop/forest/urban/water | lc_{} = each d=6
upper_lower :: tile_no = rownum 1 | roof_type = y Flat/Gable/Hip | prob_flat = p of=Flat d=5 |
    prob_gable = p of=Gable d=5 | prob_hip = p of=Hip d=5
vector_digits :: digit_image = id d | digit_gt = y 0..4 | class_probs = vec form=space d=6
quake layout=comments :: cell_no = rownum 1 | m5_occurred = y 0/1 rate=.2 | p_m5 = p d=6
fish_logits :: net = cluster N 6 | catch_class = y bream/perch/roach | {}_raw_logit = each s=logit d=4
exam_items :: pupil = cluster P 8 | item_code = cat i1/i2/i3 | solved_item = y 0/1 rate=.6 | p_solved_2pl = p d=4
"""

# Two readings are plausible, or the scale cannot be told.
ASKED = """\
calibration_three :: gt_event = y 0/1 | p_uncal = p m=raw d=5 | p_platt = p m=platt d=5 | p_iso = p m=iso d=5
sentiment_two_nets :: gold_sent = y neg/neu/pos | bert_{} = each m=bert d=5 | lstm_{} = each m=lstm d=5
margins_only or_refuse=yes :: specimen_no = rownum 1 | svm_margin_score = p s=logit d=4 | infected_gt = y 0/1 rate=.4
augment_link layout=rnames or_refuse=yes :: am = y 0/1 rate=.4 | wt = normal 3.2 .9 d=3 | .fitted = p s=logit d=5 |
    .resid = gauss | .hat = unit
decimal_book or_refuse=yes :: fixture = rownum 1 | FTR = y A/D/H | B365H = p of=H s=decimal d=2 |
    B365D = p of=D s=decimal d=2 | B365A = p of=A s=decimal d=2
relapse_free or_refuse=yes :: pt_no = rownum 1 | rfs_prob_5y = p of=0 d=4 | relapsed_5y = y 0/1 rate=.35
two_toxic also=obscene_true:obscene_pred :: cid = rownum 1 | toxic_true = y 0/1 | obscene_true = y2 0/1 |
    toxic_pred = p d=5 | obscene_pred = near .1
bleed_or_clot also=clot_1y:model_risk :: pid_no = rownum 1 | model_risk = p d=4 | bleed_6m = y 0/1 rate=.3 |
    clot_1y = y2 0/1
corner or_refuse=yes :: fight_no = rownum 1 | winner_corner = y blue/red rate=.5 | forecast_p = p d=3
ten_scale or_refuse=yes :: person_no = rownum 1 | propensity_0_10 = p s=ten d=1 | enrolled = y 0/1 rate=.4
ppm_unsaid or_refuse=yes :: batch_no = rownum 1 | defect_estimate = p s=ppm | defective_batch = y 0/1 rate=.2
low_percent :: lien_no = rownum 1 | est_risk = p s=pct d=1 | foreclosed = y 0/1 rate=.2
anonymous_v or_refuse=yes also=V4:V2,V4:V1,V1:V2,V1:V3 :: V1 = flag | V2 = unit | V3 = p | V4 = y 0/1
old_new also=died_30:score_new :: rec = rownum 1 | score_old = p d=4 | score_new = near .05 | died_30 = y 0/1 rate=.3
nothing_named layout=headless or_refuse=yes :: a = p d=5 | b = y 0/1
mostly_missing blank=settled_flag:0.65 or_refuse=yes :: file_nr = rownum 1 | settled_flag = y 0/1 rate=.5 |
    settle_prob = p d=4
one_of_codes or_refuse=yes :: grp_id = rownum 1 | grp = y 1/2 rate=.5 | p_grp = p d=4
readers_two also=reader_b:ai_prob :: exam_nr = rownum 1 | reader_a = y 0/1 | reader_b = y2 0/1 | ai_prob = p d=4
good_points or_refuse=yes :: member_no = rownum 1 | conduct_score = p of=good d=3 | conduct = y good/bad rate=.3
one_hot_offset or_refuse=yes :: obs_nr = rownum 1 | kind_no = y 1/2/3 | p{i} = each d=5
"""

# Nothing to read.
REFUSED = """\
reliability_table n=20 or_refuse=yes :: bin_no = rownum 1 | mean_predicted_value = unit |
    fraction_of_positives = unit | bin_count = int 5 90
roc_points n=40 or_refuse=yes :: fpr = unit | tpr = unit | thresholds = unit
training_log n=30 or_refuse=yes :: epoch = rownum 1 | train_loss = unit | val_loss = unit | val_accuracy = unit
grid_search n=24 or_refuse=yes :: param_C = cat 0.1/1/10 | mean_test_score = unit | std_test_score = unit |
    rank_test_score = rownum 1
importances n=25 :: feature_name = id f | gain_importance = unit | split_count = int 1 900
score_bands n=20 or_refuse=yes :: score_band_no = rownum 1 | n_accounts = int 90 900 | n_bads = int 0 60 |
    avg_pd_band = unit
plain_features :: bp_sys = normal 128 15 d=0 | bmi_val = normal 27 4 | smoker_now = flag | stroke_ever = y 0/1 rate=.2
hard_only :: y_obs_class = y elm/fir/oak | y_cls_hat = pred
test_without_truth or_refuse=yes :: PassengerNo = rownum 892 | Survived_probability = p d=6
points_only_fifth or_refuse=yes :: acct_ref = id AR | credit_score = int 300 850 | went_default = y 0/1 rate=.25
rent_model :: flat_no = rownum 1 | rent_paid = thousands | rent_forecast = thousands
machine_series :: stamp = date form=%Y-%m-%d~%H:%M | temp_c = normal 61 4 | rpm = int 900 3100 | state = cat idle/run
ticket_texts :: subject_line = text | ticket_queue = y hardware/network/software
quantile_forecast or_refuse=yes :: issued = date | q10_mm = positive | q50_mm = positive | q90_mm = positive |
    obs_mm = positive
"""


def _small(recipe: Recipe) -> Recipe:
    """The recipe with 20 to 60 rows, unless it names a number."""
    return replace(recipe, n=recipe.n or 20 + zlib.crc32(recipe.name.encode()) % 41)


RECIPES = tuple(map(_small, read_verdicts(READABLE, ASKED, REFUSED)))
